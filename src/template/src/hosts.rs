//! Whose a host name is: one namespace's, with all paths below it and the wildcard above it. Who is served stays, whatever the age of
//! those who come; at the start the older one is served.

use std::collections::{BTreeMap, HashMap, HashSet};

use minijinja::{Error, Value};

use crate::abi::{engine_protects, NodePtr, Text};
use crate::routes::{all_of, is_host, namespace_of, text};
use crate::values::{node_of, Given};

#[derive(Default)]
pub struct Hosts {
    /// By host ("*": any), the namespaces that are served there: one, but where a host may be shared.
    of: BTreeMap<String, Vec<String>>,
    /// By wildcard and namespace, the hosts that it matches.
    below: HashMap<String, BTreeMap<String, Vec<String>>>,
    /// What the render before said.
    incumbents: HashMap<String, String>,
    /// Of these, those of namespaces with an object that is left out and not seen: they stay.
    held: Vec<(String, String)>,
    shared: HashSet<String>,
    any: bool,
    refused: HashSet<NodePtr>,
    judged: bool,
    own: Own, // of the Ingress that was asked about last
}

/// The hosts of an Ingress's own rules that its certificates may be shown for, and how many names its entries were given so far.
#[derive(Default)]
struct Own {
    node: Option<NodePtr>, // None: no Ingress
    all: Vec<String>,
    below: HashMap<String, Vec<String>>, // by wildcard
    given: usize,
}

/// Of an Ingress, to all entries of spec.tls together: an object of 1 MB can ask for millions.
const MAX_NAMES: usize = 20_000;

/// The wildcard that matches it; of a wildcard, and of what has one label, none.
fn above(host: &str) -> Option<String> {
    host.find('.').filter(|_| !host.starts_with('*')).map(|at| ["*", &host[at..]].concat())
}

/// Annotations that ask for a protection of the host, which nothing here gives.
pub fn protections(ingress: &Given) -> Vec<String> {
    let annotations = ingress.get("metadata").get("annotations");
    let asks = |name: &str| unsafe { engine_protects(Text::of(name), Text::of(&text(&annotations.get(name)))) };
    annotations.each().filter_map(|name| name.as_str().filter(|name| asks(name)).map(str::to_string)).collect()
}

impl Hosts {
    /// owners: "HOST NAMESPACE\n" for each, with " held" behind those that stay in any case.
    pub fn new(owners: &str) -> Hosts {
        let mut made = Hosts::default();
        for (host, rest) in owners.lines().filter_map(|line| line.split_once(' ')) {
            let owner = rest.strip_suffix(" held").unwrap_or(rest);
            if owner != rest {
                made.held.push((host.into(), owner.into()));
            }
            made.incumbents.insert(host.into(), owner.into());
        }
        made
    }

    fn is_shared(&self, host: &str) -> bool {
        self.any || self.shared.contains(host)
    }

    fn are_served(&self, host: &str, namespace: &str) -> bool {
        self.of.get(host).is_some_and(|all| all.iter().any(|one| one == namespace))
    }

    /// A host and its namespace that keep this one from it.
    fn in_the_way<'a>(&'a self, host: &'a str, namespace: &str) -> Option<(&'a str, &'a String)> {
        if self.is_shared(host) {
            return None;
        }
        let of_others = self.below.get(host).into_iter().flatten().filter(|(owner, _)| *owner != namespace);
        let below = of_others.flat_map(|(_, hosts)| hosts).map(String::as_str);
        let above = above(host).and_then(|above| self.of.get_key_value(&above)).map(|(name, _)| name.as_str());
        let near = above.into_iter().chain(below).filter(|one| !self.is_shared(one));
        std::iter::once(host)
            .chain(near)
            .find_map(|one| self.of.get(one)?.iter().find(|owner| *owner != namespace).map(|owner| (one, owner)))
    }

    fn grant(&mut self, host: &str, namespace: &str) {
        if self.are_served(host, namespace) || self.in_the_way(host, namespace).is_some() {
            return;
        }
        self.of.entry(host.into()).or_default().push(namespace.into());
        if let Some(above) = above(host) {
            self.below.entry(above).or_default().entry(namespace.into()).or_default().push(host.into());
        }
    }

    /// Ingresses in the order of their age. refuse: those that ask for a protection are not served; as of any that is wrong, the hosts
    /// that they had stay theirs.
    pub fn claim(&mut self, ingresses: Value, shared: Value, refuse: bool) -> Result<(), Error> {
        self.any = shared == Value::from(true);
        self.shared = Given::from(shared).each().map(|host| text(&host)).collect();
        self.judged = true;
        self.own = Own::default();
        for (host, namespace) in std::mem::take(&mut self.held) {
            if !self.is_shared(&host) {
                self.grant(&host, &namespace);
            }
        }
        let mut served = Vec::new();
        for ingress in ingresses.try_iter()? {
            let (at, ingress) = (node_of(&ingress), Given::from(ingress));
            let refused = refuse && !protections(&ingress).is_empty();
            if refused {
                self.refused.insert(at);
            }
            let mut last = String::new();
            for route in all_of(&ingress) {
                if self.incumbents.get(&route.host).is_some_and(|owner| *owner == route.namespace) {
                    self.grant(&route.host, &route.namespace);
                } else if !refused && route.wrong.is_empty() && last != route.host {
                    last.clone_from(&route.host);
                    served.push((route.host, route.namespace));
                }
            }
        }
        for (host, namespace) in served {
            self.grant(&host, &namespace);
        }
        Ok(())
    }

    /// Of a route of that object; None: it may be served.
    pub fn why_not(&self, object: NodePtr, host: &str, namespace: &str) -> Option<String> {
        if !self.judged || object.is_null() || self.are_served(host, namespace) {
            return None;
        }
        let (name, owner) = self.in_the_way(host, namespace)?;
        let what = if name == "*" { "what has no other host".to_string() } else { format!("host name {name}") };
        let own = if name == host { String::new() } else { format!("host {host}: ") };
        Some(format!("{own}{what} is served for namespace {owner}; another namespace gets it only by SHARED_HOSTS or HOST_OWNERSHIP=any"))
    }

    pub fn is_refused(&self, object: NodePtr) -> bool {
        !object.is_null() && self.refused.contains(&object)
    }

    /// Whether its certificate may be shown for that name: to it go the requests for it. A wildcard that is not served, nor anything
    /// else that it matches, is of those with hosts below it, where that is one namespace: by the kind of its key a client may prefer it
    /// to the certificate of a host itself.
    fn may_name(&self, namespace: &str, host: &str) -> bool {
        let below = self.below.get(host);
        let own = below.is_some_and(|all| all.contains_key(namespace));
        let others = below.map_or(0, BTreeMap::len) > usize::from(own);
        let mut asked = [Some(host.to_string()), above(host), Some("*".into())].into_iter().flatten();
        let served = asked.find_map(|one| self.of.get(&one));
        !others && served.map_or(own, |all| all.iter().any(|one| one == namespace))
    }

    fn own_of(&self, node: NodePtr, ingress: &Given, namespace: &str) -> Own {
        let rules = ingress.get("spec").get("rules");
        let hosts = rules.each().map(|rule| text(&rule.get("host")));
        let all: Vec<String> = hosts.filter(|host| self.are_served(host, namespace) && self.may_name(namespace, host)).collect();
        let mut below: HashMap<String, Vec<String>> = HashMap::new();
        for host in &all {
            below.entry(above(host).unwrap_or_default()).or_default().push(host.clone());
        }
        Own { node: Some(node), all, below, given: 0 }
    }

    /// The names of an entry of spec.tls that its certificate is shown for, and why not for others.
    pub fn names_of(&mut self, ingress: Value, entry: Value) -> (Vec<String>, Vec<String>) {
        let (node, ingress) = (node_of(&ingress), Given::from(ingress));
        let namespace = namespace_of(&ingress);
        if self.own.node != Some(node) || node.is_null() {
            self.own = self.own_of(node, &ingress, &namespace);
        }
        if self.own.given > MAX_NAMES {
            return (Vec::new(), Vec::new());
        }
        let asked: Vec<String> = Given::from(entry).get("hosts").each().map(|host| text(&host)).collect();
        let (names, mut wrong) = self.names_among(&namespace, asked);
        self.own.given += names.len();
        if self.own.given > MAX_NAMES {
            wrong.push(format!("its entries name more than {MAX_NAMES} hosts: those behind have no effect"));
        }
        (names, wrong)
    }

    fn names_among(&self, namespace: &str, asked: Vec<String>) -> (Vec<String>, Vec<String>) {
        let own = &self.own;
        if asked.is_empty() {
            let wrong = own.all.is_empty().then(|| {
                "an entry without hosts is for those of the Ingress's own rules, and none of them is served: name the hosts".to_string()
            });
            return (own.all.clone(), wrong.into_iter().collect());
        }
        let (mut names, mut wrong) = (Vec::new(), Vec::new());
        for host in asked {
            let below = own.below.get(&host).filter(|_| host.starts_with('*'));
            if is_host(&host) && self.may_name(namespace, &host) {
                names.push(host);
            } else if let Some(below) = below {
                names.extend_from_slice(below);
            } else if is_host(&host) {
                wrong.push(format!("host {host} is none that is served for namespace {namespace}: its certificate is not shown for it"));
            } else {
                wrong.push(format!("host {host} is none"));
            }
            if own.given + names.len() > MAX_NAMES {
                break;
            }
        }
        (names, wrong)
    }

    /// Hosts whose namespace has not what no host has: what they, and the wildcard above them, have no path for belongs to no other namespace.
    pub fn closed(&self) -> Vec<String> {
        let Some(all) = self.of.get("*").filter(|_| !self.is_shared("*")) else { return Vec::new() };
        let goes_on = |host: &str| above(host).is_some_and(|above| self.of.contains_key(&above));
        self.of.iter().filter(|(host, of)| *host != "*" && *of != all && !goes_on(host)).map(|(host, _)| host.clone()).collect()
    }

    /// As new() reads them; None: claim() was not called.
    pub fn owners(&self) -> Option<String> {
        let owned = self.of.iter().filter(|(host, _)| !self.is_shared(host));
        self.judged.then(|| owned.map(|(host, of)| [host, " ", &of[0], "\n"].concat()).collect())
    }
}
