//! Values as Python prints them: str(), repr(), json.dumps().

use std::fmt::{self, Write};

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use crate::filters::invalid;

/// Values that hold themselves have no end.
const DEEPEST: usize = 64;

fn float(f: f64) -> String {
    if f.is_nan() {
        return "nan".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{f:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if f != 0.0 && !(-4..16).contains(&exponent) {
        return format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    let plain = f.to_string();
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

fn write_repr(out: &mut dyn Write, value: &Value, depth: usize) -> fmt::Result {
    if depth > DEEPEST {
        return out.write_str("...");
    }
    match value.kind() {
        ValueKind::Bool => out.write_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::None => out.write_str("None"),
        ValueKind::Undefined => out.write_str("Undefined"),
        ValueKind::Number => match f64::try_from(value.clone()) {
            Ok(f) if !value.is_integer() => out.write_str(&float(f)),
            _ => write!(out, "{value}"),
        },
        ValueKind::Seq => {
            let tuple = value.is_tuple();
            out.write_char(if tuple { '(' } else { '[' })?;
            let mut count = 0;
            for element in value.try_iter().into_iter().flatten() {
                out.write_str(if count > 0 { ", " } else { "" })?;
                write_repr(out, &element, depth + 1)?;
                count += 1;
            }
            out.write_str(if tuple && count == 1 { "," } else { "" })?;
            out.write_char(if tuple { ')' } else { ']' })
        }
        ValueKind::Map => {
            out.write_char('{')?;
            for (i, key) in value.try_iter().into_iter().flatten().enumerate() {
                out.write_str(if i > 0 { ", " } else { "" })?;
                write_repr(out, &key, depth + 1)?;
                out.write_str(": ")?;
                write_repr(out, &value.get_item(&key).unwrap_or_default(), depth + 1)?;
            }
            out.write_char('}')
        }
        _ => write!(out, "{value:?}"),
    }
}

/// As repr().
pub fn repr(value: &Value) -> String {
    let mut text = String::new();
    let _ = write_repr(&mut text, value, 0);
    text
}

/// As str(), into what is rendered; false: it prints itself.
pub fn write_text(out: &mut dyn Write, value: &Value) -> Option<fmt::Result> {
    match value.kind() {
        ValueKind::Bool | ValueKind::None | ValueKind::Number | ValueKind::Seq | ValueKind::Map => Some(write_repr(out, value, 0)),
        _ => None,
    }
}

pub fn text(value: &Value) -> String {
    let mut text = String::new();
    match write_text(&mut text, value) {
        Some(_) => text,
        None => value.to_string(),
    }
}

fn write_json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' if !"<>&'".contains(c) => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

fn json_line(out: &mut String, indent: Option<usize>, depth: usize) {
    if let Some(indent) = indent {
        out.push('\n');
        out.extend(std::iter::repeat(' ').take(indent * depth));
    }
}

fn write_json(out: &mut String, value: &Value, indent: Option<usize>, depth: usize) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(invalid("tojson: it is nested too deeply"));
    }
    let comma = if indent.is_some() { "," } else { ", " };
    match value.kind() {
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::None => out.push_str("null"),
        ValueKind::Number => out.push_str(&text(value)),
        ValueKind::String => write_json_text(out, value.as_str().unwrap_or("")),
        ValueKind::Map => {
            let mut keys: Vec<(String, Value)> = value.try_iter()?.map(|key| (text(&key), key)).collect();
            keys.sort();
            out.push('{');
            for (i, (name, key)) in keys.iter().enumerate() {
                out.push_str(if i > 0 { comma } else { "" });
                json_line(out, indent, depth + 1);
                write_json_text(out, name);
                out.push_str(": ");
                write_json(out, &value.get_item(key)?, indent, depth + 1)?;
            }
            if !keys.is_empty() {
                json_line(out, indent, depth);
            }
            out.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            let mut empty = true;
            for element in value.try_iter()? {
                out.push_str(if empty { "" } else { comma });
                json_line(out, indent, depth + 1);
                write_json(out, &element, indent, depth + 1)?;
                empty = false;
            }
            if !empty {
                json_line(out, indent, depth);
            }
            out.push(']');
        }
        kind => return Err(invalid(format!("tojson: a value of the kind {kind} is none of JSON's"))),
    }
    Ok(())
}

/// As Jinja's tojson: keys in order, what HTML would take amiss escaped.
pub fn json(value: &Value, indent: Option<usize>) -> Result<String, Error> {
    let mut out = String::new();
    write_json(&mut out, value, indent, 0)?;
    Ok(out)
}
