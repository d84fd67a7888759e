//! What an Ingress (networking.k8s.io/v1) asks for, host by host and path by path: one object for each, in the order of its rules.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use minijinja::value::{Enumerator, Object, Tuple};
use minijinja::{Error, Value};

use crate::collect::Seen;
use crate::filters::sanitize;
use crate::values::{node_of, Given};

const PATH_MAX_BYTES: usize = 2000;

#[derive(Debug)]
pub struct Route {
    pub host: String, // "*": any
    path: String,
    exact: bool,
    default: bool, // by spec.defaultBackend
    pub namespace: String,
    service: String,
    port: String,
    pub wrong: String, // "": nothing; else why it is none
}

impl Route {
    /// Of a path that matches by its elements with a slash at its end, whether it was written so or not.
    fn key(&self) -> String {
        let slash = if self.exact || self.path.ends_with('/') { "" } else { "/" };
        [&self.host, &self.path, slash].concat()
    }

    fn kind(&self) -> &'static str {
        if self.exact {
            "exact"
        } else {
            "prefix"
        }
    }

    fn backend(&self) -> String {
        sanitize(&[&self.namespace, "_", &self.service, "_", &self.port].concat())
    }
}

impl Object for Route {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().and_then(|name| self.get_value_by_str(name))
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(match key {
            "host" => Value::from(&*self.host),
            "path" => Value::from(&*self.path),
            "kind" => Value::from(self.kind()),
            "key" => Value::from(self.key()),
            "default" => Value::from(self.default),
            "namespace" => Value::from(&*self.namespace),
            "service" => Value::from(&*self.service),
            "port" => Value::from(&*self.port),
            "backend" => Value::from(self.backend()),
            "wrong" => Value::from(&*self.wrong),
            _ => return None,
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["host", "path", "kind", "key", "default", "namespace", "service", "port", "backend", "wrong"])
    }
}

/// A DNS name in lower case, which may begin with "*." for one label.
pub fn is_host(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|label| {
            let bytes = label.as_bytes();
            (1..=63).contains(&bytes.len())
                && plain(bytes[0])
                && plain(bytes[bytes.len() - 1])
                && bytes.iter().all(|&c| plain(c) || c == b'-')
        })
}

/// What a request's path can begin with, and a line of a map can hold.
fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.len() <= PATH_MAX_BYTES && path.bytes().all(|c| c.is_ascii_graphic())
}

pub fn text(given: &Given) -> String {
    if given.is_nothing() {
        return String::new();
    }
    given.as_str().map_or_else(|| given.value().to_string(), str::to_string)
}

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

fn of_backend(namespace: &str, host: &str, path: String, exact: bool, default: bool, backend: &Given) -> Route {
    let service = backend.get("service");
    let port = service.get("port");
    let name = text(&port.get("name"));
    let (service, port) = (text(&service.get("name")), if name.is_empty() { text(&port.get("number")) } else { name });
    let wrong = if !is_path(&path) {
        format!("host {host}: path {} is none: expected / and at most {PATH_MAX_BYTES} printable ASCII characters", shortened(&path))
    } else if service.is_empty() || port.is_empty() {
        format!("host {host}, path {path}: its backend is no Service with a port")
    } else {
        String::new()
    };
    Route { host: host.into(), path, exact, default, namespace: namespace.into(), service, port, wrong }
}

pub fn namespace_of(ingress: &Given) -> String {
    let namespace = text(&ingress.get("metadata").get("namespace"));
    if namespace.is_empty() {
        "default".into()
    } else {
        namespace
    }
}

/// Those of its default backend come last, for each of its hosts, or for all where it names none.
pub fn all_of(ingress: &Given) -> Vec<Route> {
    let namespace = &namespace_of(ingress);
    let spec = ingress.get("spec");
    let (mut all, mut hosts) = (Vec::new(), Vec::new());
    for rule in spec.get("rules").each() {
        let host = text(&rule.get("host"));
        if !host.is_empty() && !is_host(&host) {
            let wrong = format!("host {} is none: expected a DNS name in lower case, or *. in front of one", shortened(&host));
            all.push(Route { wrong, ..of_backend(namespace, &host, "/".into(), false, false, &Given::from(Value::UNDEFINED)) });
            continue;
        }
        let host = if host.is_empty() { "*".to_string() } else { host };
        for one in rule.get("http").get("paths").each() {
            let path = text(&one.get("path"));
            let exact = one.get("pathType").as_str() == Some("Exact");
            all.push(of_backend(namespace, &host, if path.is_empty() { "/".into() } else { path }, exact, false, &one.get("backend")));
        }
        hosts.push(host);
    }
    let backend = spec.get("defaultBackend");
    if !backend.is_nothing() {
        let anywhere = spec.get("rules").each().next().is_none();
        for host in hosts.iter().map(String::as_str).chain(anywhere.then_some("*")) {
            all.push(of_backend(namespace, host, "/".into(), false, true, &backend));
        }
    }
    all
}

pub fn routes(ingress: Value) -> Value {
    all_of(&Given::from(ingress)).into_iter().map(Value::from_object).collect()
}

/// Those of one of these classes, by spec.ingressClassName or the older annotation; those of none where `without` says so.
pub fn of_class(ingresses: Value, classes: Value, without: Option<bool>) -> Result<Value, Error> {
    let classes: HashSet<String> = Given::from(classes).each().map(|class| text(&class)).collect();
    let is_ours = |ingress: &Value| {
        let ingress = Given::from(ingress.clone());
        let class = ingress.get("spec").get("ingressClassName");
        let class = if class.is_nothing() { ingress.get("metadata").get("annotations").get("kubernetes.io/ingress.class") } else { class };
        if class.is_nothing() {
            return without.unwrap_or(false);
        }
        class.as_str().is_some_and(|name| classes.contains(name))
    };
    Ok(ingresses.try_iter()?.filter(is_ours).collect())
}

/// The hosts that entries of spec.tls name; None: one of them names none, and is for all.
fn hosts_of(tls: Value) -> Option<HashSet<String>> {
    let mut all = HashSet::new();
    for entry in Given::from(tls).each() {
        let named: Vec<String> = entry.get("hosts").each().map(|host| text(&host)).collect();
        if named.is_empty() {
            return None;
        }
        all.extend(named);
    }
    Some(all)
}

/// Whether one of them is the host, or a wildcard in the place of its first label.
fn is_covered(hosts: &Option<HashSet<String>>, host: &str) -> bool {
    let Some(hosts) = hosts else { return true };
    !hosts.is_empty() && (hosts.contains(host) || hosts.contains(&["*", host.find('.').map_or("", |at| &host[at..])].concat()))
}

/// Claims the routes of an Ingress by their kinds and keys, those of its rules or those of its default backend. Of each that nobody has
/// yet, collects its line of a map; its backend is claimed, too. Gives those that ask for more: (route, name, none) where the backend
/// of that name is new, (route, "", who has it), and with its rules (route, "", none) where it is wrong or its host another namespace's.
pub fn claim_routes(seen: &Mutex<Seen>, ingress: Value, suffix: &str, tls: Value, default: bool) -> Value {
    let (routes, at) = (all_of(&Given::from(ingress.clone())), node_of(&ingress));
    let hosts = hosts_of(tls);
    let mut seen = seen.lock().unwrap();
    let (mut more, mut last) = (Vec::new(), (String::new(), String::new(), String::new()));
    if seen.hosts.is_refused(at) {
        return Value::from(Vec::<Value>::new());
    }
    let mut another = String::new();
    for mut route in routes {
        if route.wrong.is_empty() {
            if route.host == another {
                continue; // it is said once
            }
            if let Some(why) = seen.hosts.why_not(at, &route.host, &route.namespace) {
                another.clone_from(&route.host);
                route.wrong = why;
            }
        }
        if !route.wrong.is_empty() {
            if !default {
                more.push((route, String::new(), Value::from(())));
            }
            continue;
        }
        if route.default != default {
            continue;
        }
        let key = route.key();
        let same = last.0 == route.service && last.1 == route.port; // as most have it: its backend is claimed
        let name = if same { last.2.clone() } else { route.backend() + suffix };
        let https = if is_covered(&hosts, &route.host) { "/https" } else { "" };
        let line = [&key, " ", &name, https].concat();
        let other = seen.claim(route.kind(), key, ingress.clone());
        if !other.is_none() {
            more.push((route, String::new(), other));
            continue;
        }
        seen.collect(route.kind(), Value::from(line));
        if same {
            continue;
        }
        last = (route.service.clone(), route.port.clone(), name.clone());
        if seen.claim("backend", name.clone(), Value::from(true)).is_none() {
            more.push((route, name, Value::from(())));
        }
    }
    more.into_iter().map(|(route, name, other)| Value::from(Tuple::from([Value::from_object(route), Value::from(name), other]))).collect()
}
