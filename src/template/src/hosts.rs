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
    /// By wildcard, the hosts that it matches.
    below: HashMap<String, Vec<String>>,
    /// What the render before said.
    incumbents: HashMap<String, String>,
    shared: HashSet<String>,
    any: bool,
    refused: HashSet<NodeAt>,
    judged: bool,
}

#[derive(PartialEq, Eq, Hash)]
struct NodeAt(NodePtr);
unsafe impl Send for NodeAt {}

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
    /// owners: "HOST NAMESPACE\n" for each.
    pub fn new(owners: &str) -> Hosts {
        let pairs = owners.lines().filter_map(|line| line.split_once(' '));
        Hosts { incumbents: pairs.map(|(host, owner)| (host.into(), owner.into())).collect(), ..Hosts::default() }
    }

    fn is_shared(&self, host: &str) -> bool {
        self.any || self.shared.contains(host)
    }

    fn are_served(&self, host: &str, namespace: &str) -> bool {
        self.of.get(host).is_some_and(|all| all.iter().any(|one| one == namespace))
    }

    fn first_other(&self, host: &str, namespace: &str) -> Option<&String> {
        self.of.get(host).and_then(|all| all.iter().find(|one| *one != namespace))
    }

    /// A host and its namespace that keep this one from it.
    fn in_the_way<'a>(&'a self, host: &'a str, namespace: &str) -> Option<(&'a str, &'a String)> {
        if self.is_shared(host) {
            return None;
        }
        let wildcard = above(host).and_then(|above| self.of.get_key_value(&above)).map(|(name, _)| name.as_str());
        let below = self.below.get(host).into_iter().flatten().map(String::as_str);
        let near = wildcard.into_iter().chain(below).filter(|one| !self.is_shared(one));
        std::iter::once(host).chain(near).find_map(|one| self.first_other(one, namespace).map(|owner| (one, owner)))
    }

    fn grant(&mut self, host: &str, namespace: &str) {
        if self.are_served(host, namespace) || self.in_the_way(host, namespace).is_some() {
            return;
        }
        self.of.entry(host.into()).or_default().push(namespace.into());
        if let Some(above) = above(host) {
            self.below.entry(above).or_default().push(host.into());
        }
    }

    /// Ingresses in the order of their age. What is said of some keeps their routes out; a host that they had stays theirs.
    pub fn claim(&mut self, ingresses: Value, shared: Value, refuse: bool) -> Result<(), Error> {
        self.any = shared.is_true() && shared.try_iter().is_err();
        self.shared = Given::from(shared).each().map(|host| text(&host)).collect();
        self.judged = true;
        let mut served = Vec::new();
        for ingress in ingresses.try_iter()? {
            let (at, ingress) = (node_of(&ingress), Given::from(ingress));
            let refused = refuse && !protections(&ingress).is_empty();
            if refused {
                self.refused.insert(NodeAt(at));
            }
            let mut last = String::new();
            for route in all_of(&ingress).into_iter().filter(|route| route.wrong.is_empty()) {
                if last == route.host {
                    continue;
                }
                last.clone_from(&route.host);
                if self.incumbents.get(&route.host).is_some_and(|owner| *owner == route.namespace) {
                    self.grant(&route.host, &route.namespace);
                } else if !refused {
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
        !object.is_null() && self.refused.contains(&NodeAt(object))
    }

    /// The namespace alone answers for that name.
    fn owns(&self, namespace: &str, name: &str) -> bool {
        let mut asked = [Some(name.to_string()), above(name), Some("*".into())].into_iter().flatten();
        asked.find(|host| self.of.contains_key(host)).is_some_and(|host| self.are_served(&host, namespace))
    }

    /// The names of an entry of spec.tls that its certificate is shown for, and why not for others.
    pub fn names_of(&self, ingress: Value, entry: Value) -> (Vec<String>, Vec<String>) {
        let ingress = Given::from(ingress);
        let namespace = namespace_of(&ingress);
        let mut asked: Vec<String> = Given::from(entry).get("hosts").each().map(|host| text(&host)).collect();
        if asked.is_empty() {
            asked = ingress.get("spec").get("rules").each().map(|rule| text(&rule.get("host"))).filter(|host| self.are_served(host, &namespace)).collect();
        }
        let (mut names, mut wrong) = (Vec::new(), Vec::new());
        if asked.is_empty() {
            wrong.push("an entry without hosts is for those of the Ingress's own rules, and there is none; name the hosts".to_string());
        }
        for host in asked {
            let below = self.below.get(&host).map_or(&[][..], Vec::as_slice);
            let mut own = below.iter().filter(|one| self.are_served(one, &namespace)).peekable();
            let others = below.iter().any(|one| self.first_other(one, &namespace).is_some());
            let alone = self.owns(&namespace, &host) || (own.peek().is_some() && !self.of.contains_key(&host));
            if !is_host(&host) {
                wrong.push(format!("host {host} is none"));
            } else if alone && !others {
                names.push(host);
            } else if own.peek().is_some() {
                names.extend(own.cloned()); // of a wildcard; by the kind of its key a client may prefer it to another's certificate
            } else {
                wrong.push(format!("host {host} is served for no Ingress of namespace {namespace}; its certificate is not shown for it"));
            }
        }
        (names, wrong)
    }

    /// Hosts of a namespace that has not what no host has: what they have no path for is nobody else's.
    pub fn closed(&self) -> Vec<String> {
        let Some(all) = self.of.get("*").filter(|_| !self.is_shared("*")) else { return Vec::new() };
        self.of.iter().filter(|(host, of)| *host != "*" && *of != all).map(|(host, _)| host.clone()).collect()
    }

    /// As new() reads them; None: nobody asked.
    pub fn owners(&self) -> Option<String> {
        let owned = self.of.iter().filter(|(host, _)| !self.is_shared(host));
        self.judged.then(|| owned.map(|(host, of)| [host, " ", &of[0], "\n"].concat()).collect())
    }
}
