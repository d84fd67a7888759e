//! Python's methods of text, lists and maps: those of Python 2 that old templates use, and those that minijinja-contrib lacks.

use minijinja::value::{from_args, Kwargs, Tuple, ValueKind};
use minijinja::{Error, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::builtins::{center_text, is_too_wide, padding, width_and_fill};
use crate::filters::invalid;
use crate::python;

fn place(found: Option<usize>, text: &str) -> Result<Value, Error> {
    found.map(|at| Value::from(text[..at].chars().count())).ok_or_else(|| invalid("index: it is not in there"))
}

fn three(parts: [&str; 3]) -> Value {
    Value::from(Tuple::from(parts.map(Value::from)))
}

fn rsplit(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, most, kwargs): (Option<&str>, Option<i64>, Kwargs) = from_args(args)?;
    let most = most.or(kwargs.get("maxsplit")?).and_then(|n| usize::try_from(n).ok()).map_or(usize::MAX, |n| n.saturating_add(1));
    kwargs.assert_all_used()?;
    let mut parts: Vec<&str> = match separator {
        Some("") => return Err(invalid("rsplit: an empty separator")),
        Some(separator) => text.rsplitn(most, separator).collect(),
        None => {
            let (mut parts, mut rest) = (Vec::new(), text.trim_end());
            while !rest.is_empty() {
                match rest.rfind(char::is_whitespace) {
                    Some(at) if parts.len() + 1 < most => {
                        parts.push(rest[at..].trim_start());
                        rest = rest[..at].trim_end();
                    }
                    _ => {
                        parts.push(if most == usize::MAX { rest.trim_start() } else { rest });
                        break;
                    }
                }
            }
            parts
        }
    };
    parts.reverse();
    Ok(parts.into_iter().map(Value::from).collect())
}

fn is_title(text: &str) -> bool {
    let (mut inside, mut any) = (false, false);
    for c in text.chars() {
        if (c.is_uppercase() && inside) || (c.is_lowercase() && !inside) {
            return false;
        }
        inside = c.is_alphabetic();
        any = any || inside;
    }
    any
}

fn expanded(state: &State, text: &str, width: usize) -> Result<String, Error> {
    let (mut expanded, mut column) = (String::with_capacity(text.len()), 0);
    for c in text.chars() {
        if c == '\t' {
            let pad = if width > 0 { width - column % width } else { 0 };
            expanded.push_str(&padding(state, pad, ' ')?);
            column += pad;
        } else {
            expanded.push(c);
            column = if c == '\n' || c == '\r' { 0 } else { column + 1 };
        }
    }
    Ok(expanded)
}

/// `{!r}` and `{!s}` of Python's str.format become values of their own.
fn formatted(state: &mut State, value: &Value, text: &str, args: &[Value]) -> Result<Value, Error> {
    let mut braces = text.split('{').skip(1).filter_map(|part| part.split('}').next()?.split_once(':'));
    if braces.any(|(_, spec)| is_too_wide(spec)) {
        return Err(invalid("format: it is wider than is sensible"));
    }
    if !text.contains("!r}") && !text.contains("!s}") {
        return unknown_method_callback(state, value, "format", args);
    }
    let (mut form, mut own, mut rest, mut next) = (String::new(), args.to_vec(), text, 0);
    while let Some(at) = rest.find("{!r}").into_iter().chain(rest.find("{!s}")).min() {
        next += rest[..at].matches("{}").count();
        let given = own.get(next).cloned().ok_or_else(|| invalid("format: there are too few values"))?;
        own[next] = Value::from(if rest[at..].starts_with("{!r}") { python::repr(&given) } else { python::text(&given) });
        form.push_str(&rest[..at]);
        form.push_str("{}");
        next += 1;
        rest = &rest[at + 4..];
    }
    form.push_str(rest);
    let form = Value::from(form);
    unknown_method_callback(state, &form, "format", &own)
}

fn text_method(state: &mut State, value: &Value, text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "index" => place(text.find(from_args::<(&str,)>(args)?.0), text)?,
        "rindex" => place(text.rfind(from_args::<(&str,)>(args)?.0), text)?,
        "rsplit" => rsplit(text, args)?,
        "partition" | "rpartition" => {
            let (by,): (&str,) = from_args(args)?;
            match if method == "partition" { text.split_once(by) } else { text.rsplit_once(by) } {
                Some((before, behind)) => three([before, by, behind]),
                None if method == "partition" => three([text, "", ""]),
                None => three(["", "", text]),
            }
        }
        "ljust" | "rjust" | "center" => {
            let (width, fill) = width_and_fill(args)?;
            let pad = width.saturating_sub(text.chars().count());
            Value::from(match method {
                "ljust" => text.to_string() + &padding(state, pad, fill)?,
                "rjust" => padding(state, pad, fill)? + text,
                _ => center_text(state, text, width, fill)?,
            })
        }
        "zfill" => {
            let (width,): (usize,) = from_args(args)?;
            let (sign, digits) = if text.starts_with(['+', '-']) { text.split_at(1) } else { ("", text) };
            let zeros = padding(state, width.saturating_sub(text.chars().count()), '0')?;
            Value::from(format!("{sign}{zeros}{digits}"))
        }
        "removeprefix" => Value::from(text.strip_prefix(from_args::<(&str,)>(args)?.0).unwrap_or(text)),
        "removesuffix" => Value::from(text.strip_suffix(from_args::<(&str,)>(args)?.0).unwrap_or(text)),
        "swapcase" => {
            let swapped = |c: char| if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() };
            Value::from(text.chars().map(swapped).collect::<String>())
        }
        "casefold" => Value::from(text.to_lowercase().replace('ß', "ss")),
        "expandtabs" => Value::from(expanded(state, text, from_args::<(Option<usize>,)>(args)?.0.unwrap_or(8))?),
        "istitle" => Value::from(is_title(text)),
        "isdecimal" => Value::from(!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())),
        "isidentifier" => {
            let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            Value::from(begins && text.chars().all(|c| c.is_alphanumeric() || c == '_'))
        }
        "format" => formatted(state, value, text, args)?,
        _ => return Ok(None),
    }))
}

fn container_method(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match (value.kind(), method) {
        (ValueKind::Seq, "index") => {
            let (what,): (Value,) = from_args(args)?;
            let found = value.try_iter()?.position(|v| v == what);
            found.map(|at| Some(Value::from(at))).ok_or_else(|| invalid("index: it is not in there"))
        }
        (ValueKind::Seq, "copy") => Ok(Some(value.try_iter()?.collect())),
        (ValueKind::Map, "has_key") => {
            let (key,): (Value,) = from_args(args)?;
            Ok(Some(Value::from(!value.get_item(&key)?.is_undefined())))
        }
        (ValueKind::Map, "copy") => Ok(Some(value.clone())),
        _ => Ok(None),
    }
}

const CHANGES: [&str; 13] =
    ["append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add", "discard"];

pub fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let kind = value.kind();
    let own = match value.as_str() {
        Some(text) => text_method(state, value, text, method, args)?,
        None => container_method(value, method, args)?,
    };
    if let Some(own) = own {
        return Ok(own);
    }
    let renamed = match (kind, method) {
        (ValueKind::Map, "iteritems" | "viewitems") => "items",
        (ValueKind::Map, "itervalues" | "viewvalues") => "values",
        (ValueKind::Map, "iterkeys" | "viewkeys") => "keys",
        (ValueKind::Map | ValueKind::Seq, method) if CHANGES.contains(&method) => {
            return Err(invalid(format!(
                "{method}: values do not change here; {{% set l = l + [x] %}} makes a new list, namespace() keeps it beyond a loop"
            )));
        }
        _ => method,
    };
    unknown_method_callback(state, value, renamed, args)
}
