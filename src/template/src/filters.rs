//! The filters that are not minijinja's own.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_char, CString};
use std::rc::Rc;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};

use crate::abi::base64_decode;
use crate::values::Given;
use crate::{endpoints, routes};

extern "C" {
    fn fnmatch(pattern: *const c_char, text: *const c_char, flags: i32) -> i32;
}

pub fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, text.into())
}

fn b64decode(text: &str) -> Result<Value, Error> {
    let bytes = base64_decode(text).ok_or_else(|| invalid("b64decode: it is no base64"))?;
    Ok(String::from_utf8(bytes).map_or_else(|e| Value::from_bytes(e.into_bytes()), Value::from))
}

pub fn glob(text: &str, pattern: &str) -> bool {
    match (CString::new(pattern), CString::new(text)) {
        (Ok(pattern), Ok(text)) => unsafe { fnmatch(pattern.as_ptr(), text.as_ptr(), 0) == 0 },
        _ => false,
    }
}

/// Of a text whether it matches, of a list those that do.
fn glob_match(value: Value, pattern: &str) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        return Ok(Value::from(glob(text, pattern)));
    }
    Ok(value.try_iter()?.filter(|v| v.as_str().is_some_and(|text| glob(text, pattern))).collect())
}

/// As many are kept compiled; templates have few, and use them for each object.
const REGEXES: usize = 64;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Rc<regex::Regex>>> = RefCell::default();
}

fn regex(pattern: &str) -> Result<Rc<regex::Regex>, Error> {
    COMPILED.with(|all| {
        let mut all = all.borrow_mut();
        if let Some(there) = all.get(pattern) {
            return Ok(there.clone());
        }
        // Its own limits keep what it compiles small; it matches in linear time.
        let made = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
        let made = Rc::new(made.map_err(|e| invalid(format!("regular expression {pattern:?}: {e}")))?);
        if all.len() >= REGEXES {
            all.clear();
        }
        all.insert(pattern.to_string(), made.clone());
        Ok(made)
    })
}

/// What matches (the first group where there is one), or none.
fn regex_search(text: &str, pattern: &str) -> Result<Value, Error> {
    let found = regex(pattern)?.captures(text).map(|c| c.get(1).or(c.get(0)).map_or(String::new(), |m| m.as_str().into()));
    Ok(found.map_or(Value::from(()), Value::from))
}

fn regex_replace(text: &str, pattern: &str, by: &str) -> Result<String, Error> {
    Ok(regex(pattern)?.replace_all(text, by).into_owned())
}

/// As Python's re.escape.
fn regex_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Behind "[": a number, * or a quoted name; and what follows it.
fn bracket(inner: &str) -> Option<(String, &str)> {
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (name, rest) = inner[1..].split_once(quote)?;
        return Some((name.to_string(), rest.strip_prefix(']')?)).filter(|_| !name.is_empty());
    }
    let (step, rest) = inner.split_once(']')?;
    let numeric = !step.is_empty() && step.bytes().all(|c| c.is_ascii_digit());
    Some((step.to_string(), rest)).filter(|_| numeric || step == "*")
}

/// A name up to the next "." or "["; a backslash makes what is behind it a part of it, as kubectl has it.
fn field(text: &str) -> Option<(String, &str)> {
    let (mut name, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '.' | '[' => return Some((name, &text[at..])).filter(|(name, _)| !name.is_empty()),
            '\\' => name.push(letters.next().map_or(letter, |(_, behind)| behind)),
            _ => name.push(letter),
        }
    }
    Some((name, "")).filter(|(name, _)| !name.is_empty())
}

/// The paths of index_by and keep (json_path.c): "metadata.labels['a.b']", with or without "$." or "{.}"; "[*]": of each element.
fn steps(path: &str) -> Result<Vec<String>, Error> {
    let plain = path.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap_or(path);
    let (mut steps, mut rest) = (Vec::new(), plain.strip_prefix('$').unwrap_or(plain));
    while !rest.is_empty() {
        let found = match rest.strip_prefix('[') {
            Some(inner) => bracket(inner),
            None => field(rest.strip_prefix('.').unwrap_or(rest)),
        };
        let Some((step, behind)) = found else {
            return Err(invalid(format!("path {path:?}: {rest:?} is no field, [number], ['name'] or [*]")));
        };
        steps.push(step);
        rest = behind;
    }
    Ok(steps)
}

fn follow(value: &Value, steps: &[String]) -> Value {
    let (mut at, mut left) = (Given::from(value.clone()), steps);
    while let Some((step, rest)) = left.split_first() {
        if step == "*" {
            let all: Vec<Value> =
                at.value().try_iter().into_iter().flatten().map(|v| follow(&v, rest)).filter(|v| !v.is_undefined()).collect();
            return Value::from(all);
        }
        at = match step.parse::<usize>() {
            Ok(index) if at.value().kind() == ValueKind::Seq => at.value().get_item_by_index(index).unwrap_or(Value::UNDEFINED).into(),
            _ => at.get(step),
        };
        left = rest;
    }
    at.value()
}

fn extract(list: Value, path: &str) -> Result<Value, Error> {
    let steps = steps(path)?;
    let mut all = Vec::new();
    for value in list.try_iter()? {
        let found = follow(&value, &steps);
        if steps.iter().any(|s| s == "*") {
            all.extend(found.try_iter()?);
        } else if !found.is_undefined() {
            all.push(found);
        }
    }
    Ok(Value::from(all))
}

/// By paths, each with ":desc" where the greatest comes first, ":length" for how long it is, ":exists" for whether it is there.
fn sort_by(list: Value, by: Value) -> Result<Value, Error> {
    let given: Vec<Value> = if by.as_str().is_some() { vec![by] } else { by.try_iter()?.collect() };
    let mut criteria = Vec::new();
    for one in &given {
        let text = one.as_str().ok_or_else(|| invalid("sort_by: expected a path or a list of paths"))?;
        let mut words = text.split(':');
        let path = steps(words.next().unwrap_or("").trim())?;
        let (mut descending, mut length, mut exists) = (false, false, false);
        for word in words {
            match word.trim() {
                "desc" => descending = true,
                "asc" => descending = false,
                "length" => length = true,
                "exists" => exists = true,
                other => return Err(invalid(format!("sort_by: {other:?} is none of asc, desc, exists, length"))),
            }
        }
        criteria.push((path, descending, length, exists));
    }
    let mut keyed: Vec<(Vec<Value>, Value)> = list
        .try_iter()?
        .map(|value| {
            let keys = criteria
                .iter()
                .map(|(path, _, length, exists)| match follow(&value, path) {
                    found if *exists => Value::from(!found.is_undefined()),
                    found if *length => Value::from(found.as_str().map(|s| s.chars().count()).or(found.len()).unwrap_or(0)),
                    found => found,
                })
                .collect();
            (keys, value)
        })
        .collect();
    keyed.sort_by(|(a, _), (b, _)| {
        a.iter()
            .zip(b)
            .zip(&criteria)
            .map(|((a, b), c)| if c.1 { b.cmp(a) } else { a.cmp(b) })
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(keyed.into_iter().map(|(_, value)| value).collect())
}

/// Of what a path says in each: the lists of those with the same, in the order of that.
fn group_by(list: Value, path: &str) -> Result<Value, Error> {
    let steps = steps(path)?;
    let mut groups: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
    for value in list.try_iter()? {
        let found = follow(&value, &steps);
        groups.entry(if found.is_undefined() { Value::from("") } else { found }).or_default().push(value);
    }
    Ok(groups.into_iter().map(|(key, values)| (key, Value::from(values))).collect())
}

/// An argument of a line of haproxy.cfg (HAProxy's configuration manual, 2.2 Quoting and escaping).
fn haproxy(value: Value) -> Result<String, Error> {
    let text = value.to_string();
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return Err(invalid(format!("haproxy: {c:?} can be in no argument: {text:?}")));
    }
    let plain = |c: char| c.is_alphanumeric() || "-_.:/@%,=+*~!?()<>|^&;[]{}".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(text);
    }
    // Within single quotes all is itself; a single quote stands outside of them.
    Ok(text.split('\'').map(|part| format!("'{part}'")).collect::<Vec<_>>().join("\\'"))
}

/// The name of a section or a server: what it may not have becomes _.
pub fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':') { c } else { '_' }).collect()
}

pub fn add_all(env: &mut Environment) {
    env.add_filter("b64decode", b64decode);
    env.add_test("base64", |value: Value| value.as_str().is_some_and(|text| b64decode(text).is_ok()));
    env.add_test("host", |value: Value| value.as_str().is_some_and(routes::is_host));
    env.add_filter("routes", routes::routes);
    env.add_filter("of_class", routes::of_class);
    env.add_filter("endpoints", endpoints::endpoints);
    env.add_filter("service_port", endpoints::service_port);
    env.add_filter("usable_nodes", endpoints::usable_nodes);
    env.add_filter("servers", endpoints::servers);
    env.add_filter("slots", endpoints::slots);
    env.add_filter("glob_match", glob_match);
    env.add_filter("regex_search", regex_search);
    env.add_filter("regex_replace", regex_replace);
    env.add_filter("regex_escape", regex_escape);
    env.add_filter("re_escape", regex_escape);
    env.add_filter("extract", extract);
    env.add_filter("sort_by", sort_by);
    env.add_filter("group_by", group_by);
    env.add_filter("haproxy", haproxy);
    env.add_filter("sanitize", |value: Value| sanitize(&value.to_string()));
}
