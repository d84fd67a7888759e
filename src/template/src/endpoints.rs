//! EndpointSlices as the servers of a backend: which endpoints, or nodes with them, take connections, each once, in an order of their own.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use minijinja::value::{Enumerator, Object};
use minijinja::{Error, Value};

use crate::filters::invalid;
use crate::values::Given;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Endpoint {
    address: IpAddr,
    port: u16,
}

/// In decimal: there are so many of them that what can do all takes too long.
fn push_number(to: &mut Vec<u8>, number: u16) {
    let (mut digits, mut at, mut rest) = ([0u8; 5], 5, number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[at..]);
}

fn push_v4(to: &mut Vec<u8>, address: Ipv4Addr) {
    for (i, octet) in address.octets().into_iter().enumerate() {
        if i > 0 {
            to.push(b'.');
        }
        push_number(to, octet.into());
    }
}

impl Endpoint {
    fn push_target(&self, to: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(address) => push_v4(to, address),
            IpAddr::V6(address) => to.extend_from_slice(format!("[{address}]").as_bytes()),
        }
        to.push(b':');
        push_number(to, self.port);
    }

    /// Of a server: no two endpoints have the same, and none changes.
    fn push_name(&self, to: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(address) => push_v4(to, address),
            IpAddr::V6(address) => to.extend_from_slice(address.to_string().replace(':', "-").as_bytes()),
        }
        to.push(b'_');
        push_number(to, self.port);
    }

    fn push_server(&self, to: &mut Vec<u8>) {
        self.push_name(to);
        to.push(b' ');
        self.push_target(to);
    }

    fn target(&self) -> String {
        let mut target = Vec::with_capacity(24);
        self.push_target(&mut target);
        String::from_utf8(target).unwrap_or_default()
    }

    fn name(&self) -> String {
        let mut name = Vec::with_capacity(24);
        self.push_name(&mut name);
        String::from_utf8(name).unwrap_or_default()
    }
}

impl Object for Endpoint {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().and_then(|name| self.get_value_by_str(name))
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "name" => Some(Value::from(self.name())),
            "target" => Some(Value::from(self.target())),
            "address" => Some(Value::from(self.address.to_string())),
            "port" => Some(Value::from(self.port)),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["name", "target", "address", "port"])
    }

    /// As a line of a server begins, so that `join` makes lines of them.
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::with_capacity(48);
        self.push_server(&mut line);
        f.write_str(std::str::from_utf8(&line).unwrap_or(""))
    }
}

/// A condition that is not there is taken for true, as its API says of ready and serving.
fn holds(endpoint: &Given, condition: &str) -> bool {
    let found = endpoint.get("conditions").get(condition);
    found.is_nothing() || found.is_true()
}

/// The addresses of nodes that may be servers, by their names.
#[derive(Debug)]
pub struct Nodes(BTreeMap<String, IpAddr>);

impl Object for Nodes {}

/// A node that is deleted, or about to be, or excluded by its label gets no new connections from a load balancer (KEP 1860, service
/// controllers of cloud providers). Its address is the first one of the first type that it has.
pub fn usable_nodes(nodes: Value, types: Vec<String>) -> Result<Value, Error> {
    let mut usable = BTreeMap::new();
    for node in nodes.try_iter()?.map(Given::from) {
        let (meta, addresses) = (node.get("metadata"), node.get("status").get("addresses"));
        let excluded = !meta.get("labels").get("node.kubernetes.io/exclude-from-external-load-balancers").is_nothing();
        let leaves = node.get("spec").get("taints").each().any(|t| t.get("key").as_str() == Some("ToBeDeletedByClusterAutoscaler"));
        if excluded || leaves || !meta.get("deletionTimestamp").is_nothing() {
            continue;
        }
        let of = |kind: &String| {
            addresses.each().filter(|a| a.get("type").as_str() == Some(kind)).find_map(|a| a.get("address").as_str()?.parse().ok())
        };
        if let (Some(name), Some(address)) = (meta.get("name").as_str(), types.iter().find_map(of)) {
            usable.insert(name.to_owned(), address);
        }
    }
    Ok(Value::from_object(Nodes(usable)))
}

/// Those that are ready; where none is, those that still serve. A slice's port is found by the name of the Service's: "" is one, too.
/// With nodes: the nodes that these are on, or all where there are no slices, each with that port.
fn chosen(slices: Value, port_name: &str, nodes: Option<&Value>, node_port: Option<u16>) -> Result<Vec<Endpoint>, Error> {
    let on = match nodes {
        Some(nodes) => Some((
            nodes.downcast_object_ref::<Nodes>().ok_or_else(|| invalid("expected what usable_nodes returns"))?,
            node_port.unwrap_or(0),
        )),
        None => None,
    };
    if let (Some((Nodes(all), port)), true) = (on, slices.is_none()) {
        let mut everywhere: Vec<Endpoint> = all.values().map(|&address| Endpoint { address, port }).collect();
        everywhere.sort_unstable();
        return Ok(everywhere);
    }
    let (mut ready, mut serving) = (Vec::new(), Vec::new());
    for slice in slices.try_iter()?.map(Given::from) {
        for port in slice.get("ports").each() {
            if port.get("name").as_str().unwrap_or("") != port_name {
                continue;
            }
            let Some(number) = port.get("port").as_i64().and_then(|n| u16::try_from(n).ok()).filter(|&n| n > 0) else { continue };
            for one in slice.get("endpoints").each() {
                // A name (addressType FQDN) is no address.
                let found = match on {
                    Some((Nodes(all), port)) => one.get("nodeName").as_str().and_then(|name| all.get(name)).map(|&address| (address, port)),
                    None => one.get("addresses").first().as_str().and_then(|text| text.parse().ok()).map(|address| (address, number)),
                };
                let Some((address, port)) = found else { continue };
                let endpoint = Endpoint { address, port };
                if holds(&one, "ready") {
                    ready.push(endpoint);
                } else if holds(&one, "serving") {
                    serving.push(endpoint);
                }
            }
        }
    }
    let mut chosen = if ready.is_empty() { serving } else { ready };
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

pub fn endpoints(slices: Value, port_name: &str, nodes: Option<Value>, node_port: Option<u16>) -> Result<Value, Error> {
    Ok(chosen(slices, port_name, nodes.as_ref(), node_port)?.into_iter().map(Value::from_object).collect())
}

/// The same as lines of a backend, the last one without its end.
pub fn servers(slices: Value, port_name: &str, nodes: Option<Value>, node_port: Option<u16>) -> Result<String, Error> {
    let chosen = chosen(slices, port_name, nodes.as_ref(), node_port)?;
    let mut lines = Vec::with_capacity(chosen.len() * 48);
    for endpoint in chosen {
        lines.extend_from_slice(if lines.is_empty() { "  server ".as_bytes() } else { "\n  server ".as_bytes() });
        endpoint.push_server(&mut lines);
    }
    Ok(String::from_utf8(lines).unwrap_or_default())
}

/// A Service's port, that is asked for by its name or its number; none: there is no such port.
pub fn service_port(service: Value, port: &str) -> Value {
    Given::from(service)
        .get("spec")
        .get("ports")
        .each()
        .filter(|one| one.get("name").as_str() == Some(port) || one.get("port").value().to_string() == port)
        .last()
        .map_or(Value::from(()), |one| one.value().clone())
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The servers of what was given last: by backend, the place of each address.
type Places = HashMap<&'static str, HashMap<&'static str, usize>>;

#[derive(Default)]
struct Before {
    text: &'static str,
    places: Option<Places>, // read from it for the first who asks
}

thread_local! {
    static BEFORE: RefCell<Before> = RefCell::default();
}

/// A haproxy.cfg, "": none.
pub fn begin(before: &'static str) {
    BEFORE.with(|b| *b.borrow_mut() = Before { text: before, places: None });
}

/// Whether a template asked for the places of a backend.
pub fn asked() -> bool {
    BEFORE.with(|b| b.borrow().places.is_some())
}

/// Of two backends of one name the first counts.
fn read_places(text: &'static str) -> Places {
    let (mut all, mut inside) = (Places::new(), None);
    let mut place = 0;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("backend"), Some(name), _) => {
                inside = Some(name).filter(|name| !all.contains_key(name));
                place = 0;
            }
            (Some("listen" | "peers" | "ring"), ..) => inside = None,
            (Some("server"), Some(_), Some(address)) => {
                if let Some(name) = inside {
                    all.entry(name).or_default().entry(address).or_insert(place);
                    place += 1;
                }
            }
            _ => {}
        }
    }
    all
}

fn places_of(backend: &str) -> HashMap<&'static str, usize> {
    BEFORE.with(|b| {
        let mut b = b.borrow_mut();
        let text = b.text;
        b.places.get_or_insert_with(|| read_places(text)).get(backend).cloned().unwrap_or_default()
    })
}

/// As many places as the next multiple of `step`, or as far as one reaches that is kept; each has one of the list, or is none. Which
/// has a place as a server of that backend keeps it; another gets one by its name, which seldom changes when others come or go.
pub fn slots(list: Value, step: usize, backend: Option<&str>) -> Result<Value, Error> {
    if !(1..=1000).contains(&step) {
        return Err(invalid("slots: expected a number of 1 to 1000"));
    }
    let mut values: Vec<(String, String, Value)> = list
        .try_iter()?
        .map(|value| match value.downcast_object_ref::<Endpoint>() {
            Some(endpoint) => (endpoint.name(), endpoint.target(), value),
            None => (value.to_string(), value.to_string(), value),
        })
        .collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    let size = ((values.len() + step - 1) / step).max(1) * step;
    let mut before = backend.map(places_of).unwrap_or_default();
    let mut places = vec![Value::from(()); size];
    let mut others = Vec::new();
    for (key, address, value) in values {
        let Some(at) = before.remove(address.as_str()) else {
            others.push((key, value));
            continue;
        };
        if at >= places.len() {
            places.resize((at / step + 1) * step, Value::from(()));
        }
        places[at] = value;
    }
    // Below the size there is room for all: one that comes never keeps the list longer than it has to be.
    for (key, value) in others {
        let from = (hash(&key) % size as u64) as usize;
        let free = (0..size).map(|i| (from + i) % size).find(|&i| places[i].is_none());
        if let Some(at) = free {
            places[at] = value;
        }
    }
    Ok(Value::from(places))
}
