//! What a template cannot do by itself in linear time: to remember what it has seen, and to gather texts for several files in one pass.
//! What is remembered lasts for one render.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use minijinja::{Environment, Error, Value};

use crate::abi::{place_of, Known};
use crate::kind_of;

pub fn add_all(env: &mut Environment, known: Known) {
    type Claims = BTreeMap<String, HashMap<String, Value>>;
    let claims: Arc<Mutex<Claims>> = Arc::default();
    // The value that has the key already, or none: then it is this one's from here on.
    env.add_function("claim", move |of: &str, key: String, value: Value| -> Value {
        let mut claims = claims.lock().unwrap();
        if !claims.contains_key(of) {
            claims.insert(of.to_string(), HashMap::new());
        }
        match claims.get_mut(of).map(|keys| keys.entry(key)) {
            Some(Entry::Occupied(there)) => there.get().clone(),
            Some(Entry::Vacant(free)) => {
                free.insert(value);
                Value::from(())
            }
            None => Value::from(()),
        }
    });
    let lists: Arc<Mutex<BTreeMap<String, Vec<Value>>>> = Arc::default();
    let all = lists.clone();
    env.add_function("collect", move |of: &str, value: Value| -> &'static str {
        let mut lists = lists.lock().unwrap();
        match lists.get_mut(of) {
            Some(list) => list.push(value),
            None => drop(lists.insert(of.to_string(), vec![value])),
        }
        ""
    });
    env.add_function("collected", move |of: &str| -> Value { Value::from(all.lock().unwrap().get(of).cloned().unwrap_or_default()) });
    // What a file of that kind and content would be refused for; "": nothing.
    env.add_function("problem", move |kind: &str, name: &str, content: &str| -> Result<String, Error> {
        Ok(place_of(known, kind_of(kind)?, name, content.as_bytes()).err().unwrap_or_default())
    });
}
