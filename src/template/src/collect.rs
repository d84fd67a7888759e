//! What a template cannot do by itself in linear time: to remember what it has seen, and to gather texts for several files in one pass.
//! What is remembered lasts for one render.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use minijinja::{Environment, Error, Value};

use crate::abi::{place_of, Handle};
use crate::hosts::{protections, Hosts};
use crate::values::Given;
use crate::{kind_of, routes};

#[derive(Default)]
pub struct Seen {
    claims: BTreeMap<String, HashMap<String, Value>>,
    lists: BTreeMap<String, Vec<Value>>,
    sums: HashMap<String, usize>,
    pub hosts: Hosts,
}

/// What is there of a name; nothing is copied for one that is there.
fn named<'a, T: Default>(all: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    if !all.contains_key(name) {
        all.insert(name.to_string(), T::default());
    }
    all.get_mut(name).unwrap()
}

impl Seen {
    /// The value that has the key already, or none: then it is this one's from here on.
    pub fn claim(&mut self, of: &str, key: String, value: Value) -> Value {
        match named(&mut self.claims, of).entry(key) {
            Entry::Occupied(there) => there.get().clone(),
            Entry::Vacant(free) => {
                free.insert(value);
                Value::from(())
            }
        }
    }

    pub fn collect(&mut self, of: &str, value: Value) {
        named(&mut self.lists, of).push(value);
    }
}

/// owners: of hosts, as the render before had them.
pub fn add_all(env: &mut Environment, known: Handle, owners: &str) -> Arc<Mutex<Seen>> {
    let seen = Arc::new(Mutex::new(Seen { hosts: Hosts::new(owners), ..Seen::default() }));
    let given = seen.clone();
    let all = seen.clone();
    env.add_function("claim", move |of: &str, key: String, value: Value| -> Value { all.lock().unwrap().claim(of, key, value) });
    let all = seen.clone();
    env.add_function("claim_routes", move |ingress: Value, suffix: &str, tls: Value, default: Option<bool>| -> Value {
        routes::claim_routes(&all, ingress, suffix, tls, default.unwrap_or(false))
    });
    let all = seen.clone();
    env.add_function("claim_hosts", move |ingresses: Value, shared: Value, refuse: bool| -> Result<&'static str, Error> {
        all.lock().unwrap().hosts.claim(ingresses, shared, refuse).map(|()| "")
    });
    let all = seen.clone();
    env.add_function("close_hosts", move |backend: &str| -> &'static str {
        let mut seen = all.lock().unwrap();
        for host in seen.hosts.closed() {
            let key = host + "/";
            let line = [&key, " ", backend].concat();
            if seen.claim("prefix", key, Value::from(true)).is_none() {
                seen.collect("prefix", Value::from(line));
            }
        }
        ""
    });
    let all = seen.clone();
    env.add_function("tls_names", move |ingress: Value, entry: Value| -> Value {
        let (names, wrong) = all.lock().unwrap().hosts.names_of(ingress, entry);
        Value::from(vec![Value::from(names), Value::from(wrong)])
    });
    env.add_filter("protections", |ingress: Value| -> Vec<String> { protections(&Given::from(ingress)) });
    let all = seen.clone();
    env.add_function("collect", move |of: &str, value: Value| -> &'static str {
        all.lock().unwrap().collect(of, value);
        ""
    });
    let all = seen.clone();
    env.add_function("tally", move |of: String, more: usize| -> usize {
        let mut seen = all.lock().unwrap();
        let sum = seen.sums.entry(of).or_default();
        *sum = sum.saturating_add(more);
        *sum
    });
    env.add_function("collected", move |of: &str| -> Value {
        Value::from(seen.lock().unwrap().lists.get(of).cloned().unwrap_or_default())
    });
    // What a file of that kind and content would be refused for; "": nothing.
    env.add_function("problem", move |kind: &str, name: &str, content: &str| -> Result<String, Error> {
        Ok(place_of(known, kind_of(kind)?, name, content.as_bytes()).err().unwrap_or_default())
    });
    given
}
