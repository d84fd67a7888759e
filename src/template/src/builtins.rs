//! Jinja's own filters and tests where minijinja has none, or others than Python's.

use minijinja::formatting::{format, FormatStyle};
use minijinja::value::{from_args, Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, State, Value};

use crate::filters::invalid;
use crate::python;

/// An argument by its place or by its name.
fn argument(args: &[Value], at: usize, kwargs: &Kwargs, name: &str) -> Result<Option<Value>, Error> {
    match args.get(at) {
        Some(value) => Ok(Some(value.clone())),
        None if kwargs.has(name) => kwargs.get(name),
        None => Ok(None),
    }
}

fn whole(value: Option<Value>, or: i64, of: &str) -> Result<usize, Error> {
    let number = value.map_or(Some(or), |v| v.as_i64()).ok_or_else(|| invalid(format!("{of}: expected a number")))?;
    Ok(usize::try_from(number).unwrap_or(0))
}

/// Spaces to make up a width cost what they take before they are there.
pub fn padding(state: &State, count: usize, fill: char) -> Result<String, Error> {
    state.consume_fuel(count as u64 / 64)?;
    Ok(std::iter::repeat(fill).take(count).collect())
}

pub fn center_text(state: &State, text: &str, width: usize, fill: char) -> Result<String, Error> {
    let pad = width.saturating_sub(text.chars().count());
    let left = pad / 2 + (pad & width & 1);
    Ok(padding(state, left, fill)? + text + &padding(state, pad - left, fill)?)
}

fn center(state: &mut State, value: Value, width: Option<usize>) -> Result<String, Error> {
    center_text(state, &python::text(&value), width.unwrap_or(80), ' ')
}

fn default(value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let other = argument(&args, 0, &kwargs, "default_value")?.unwrap_or_else(|| Value::from(""));
    let boolean = argument(&args, 1, &kwargs, "boolean")?.is_some_and(|v| v.is_true());
    kwargs.assert_all_used()?;
    Ok(if value.is_undefined() || (boolean && !value.is_true()) { other } else { value.clone() })
}

fn dictsort(state: &mut State, value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let mut named: Vec<(&str, Value)> = Vec::new();
    for (i, name) in ["case_sensitive", "by", "reverse"].into_iter().enumerate() {
        if let Some(given) = argument(&args, i, &kwargs, name)? {
            named.push((name, given));
        }
    }
    kwargs.assert_all_used()?;
    state.apply_filter("_dictsort", &[value, Kwargs::from_iter(named).into()])
}

fn escape(value: Value) -> Value {
    let text = python::text(&value);
    if value.is_safe() {
        return value;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&#34;"),
            _ => escaped.push(c),
        }
    }
    Value::from_safe_string(escaped)
}

fn float(value: Value, default: Option<Value>) -> Value {
    let number = match value.as_str() {
        Some(text) => text.trim().parse().ok(),
        None => f64::try_from(value).ok(),
    };
    number.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from)
}

fn int(value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let default = argument(&args, 0, &kwargs, "default")?.unwrap_or_else(|| Value::from(0));
    let base = whole(argument(&args, 1, &kwargs, "base")?, 10, "int")? as u32;
    kwargs.assert_all_used()?;
    if !(2..=36).contains(&base) {
        return Err(invalid("int: a base is from 2 to 36"));
    }
    let Some(text) = value.as_str() else {
        return Ok(match value.kind() {
            ValueKind::Bool => Value::from(i64::from(value.is_true())),
            ValueKind::Number if value.is_integer() => value,
            ValueKind::Number => f64::try_from(value).map_or(default, |f| Value::from(f.trunc() as i128)),
            _ => default,
        });
    };
    let text = text.trim();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text.strip_prefix('+').unwrap_or(text)), |rest| (-1, rest));
    let lower = digits.to_lowercase();
    let digits = match base {
        2 => lower.strip_prefix("0b"),
        8 => lower.strip_prefix("0o"),
        16 => lower.strip_prefix("0x"),
        _ => None,
    }
    .unwrap_or(&lower);
    Ok(match (i128::from_str_radix(digits, base), text.parse::<f64>()) {
        (Ok(number), _) if !digits.starts_with(['+', '-']) => Value::from(sign * number),
        (_, Ok(number)) if number.is_finite() => Value::from(number.trunc() as i128),
        _ => default,
    })
}

fn indent(state: &mut State, value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let width = argument(&args, 0, &kwargs, "width")?.unwrap_or_else(|| Value::from(4));
    let first = argument(&args, 1, &kwargs, "first")?.is_some_and(|v| v.is_true());
    let blank = argument(&args, 2, &kwargs, "blank")?.is_some_and(|v| v.is_true());
    kwargs.assert_all_used()?;
    let by = match width.as_str() {
        Some(text) => text.to_string(),
        None => padding(state, whole(Some(width), 4, "indent")?, ' ')?,
    };
    let text = python::text(&value);
    let mut indented = if first { by.clone() } else { String::new() };
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            state.consume_fuel(by.len() as u64 / 64)?;
            indented.push('\n');
            indented.push_str(if blank || !line.is_empty() { &by } else { "" });
        }
        indented.push_str(line);
    }
    Ok(indented)
}

fn tojson(value: Value, indent: Option<usize>, kwargs: Kwargs) -> Result<Value, Error> {
    let indent = indent.or(kwargs.get("indent")?);
    kwargs.assert_all_used()?;
    python::json(&value, indent).map(Value::from_safe_string)
}

fn truncate(value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let length = whole(argument(&args, 0, &kwargs, "length")?, 255, "truncate")?;
    let kill = argument(&args, 1, &kwargs, "killwords")?.is_some_and(|v| v.is_true());
    let end = argument(&args, 2, &kwargs, "end")?.map_or("...".into(), |v| python::text(&v));
    let leeway = whole(argument(&args, 3, &kwargs, "leeway")?, 5, "truncate")?;
    kwargs.assert_all_used()?;
    let text: Vec<char> = python::text(&value).chars().collect();
    if text.len() <= length + leeway {
        return Ok(text.into_iter().collect());
    }
    let left = length.checked_sub(end.chars().count()).ok_or_else(|| invalid("truncate: the end is longer than the length"))?;
    let cut: String = text[..left].iter().collect();
    let kept = if kill { &cut } else { cut.rsplit_once(' ').map_or(cut.as_str(), |(before, _)| before) };
    Ok(format!("{kept}{end}"))
}

fn quoted(text: &str, query: bool) -> String {
    let mut quoted = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => quoted.push(byte as char),
            b'/' if !query => quoted.push('/'),
            b' ' if query => quoted.push('+'),
            _ => quoted.push_str(&format!("%{byte:02X}")),
        }
    }
    quoted
}

fn urlencode(value: Value) -> Result<String, Error> {
    let pairs: Vec<(Value, Value)> = match value.kind() {
        ValueKind::Map => value.try_iter()?.map(|key| Ok((key.clone(), value.get_item(&key)?))).collect::<Result<_, Error>>()?,
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.map(|pair| Ok((pair.get_item_by_index(0)?, pair.get_item_by_index(1)?))).collect::<Result<_, Error>>()?
        }
        _ => return Ok(quoted(&python::text(&value), false)),
    };
    let pairs: Vec<String> =
        pairs.iter().map(|(k, v)| format!("{}={}", quoted(&python::text(k), true), quoted(&python::text(v), true))).collect();
    Ok(pairs.join("&"))
}

fn wordcount(value: Value) -> usize {
    let text = python::text(&value);
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).count()
}

// ---- printf ----

/// What a width or a precision may be: it takes so many bytes at once.
const WIDEST: usize = 10_000;

/// Whether a number in it is more.
pub fn is_too_wide(form: &str) -> bool {
    form.split(|c: char| !c.is_ascii_digit()).any(|run| !run.is_empty() && run.parse::<usize>().map_or(true, |n| n > WIDEST))
}

/// How many values a format takes, and with %r and %s as Python has them; None: by names.
fn prepared(form: &str, args: &mut Vec<Value>) -> Result<(String, Option<usize>), Error> {
    let (mut prepared, mut taken, mut by_name) = (String::with_capacity(form.len()), 0, false);
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        prepared.push(c);
        if c != '%' {
            continue;
        }
        let (mut named, mut inside, begin) = (false, false, prepared.len());
        for c in chars.by_ref() {
            match c {
                _ if inside => inside = c != ')',
                '(' => (named, inside) = (true, true),
                '*' if taken < args.len() => {
                    prepared.push_str(&python::text(&args.remove(taken)));
                    continue;
                }
                'u' => {
                    prepared.push('d');
                    taken += 1;
                    break;
                }
                '%' => {
                    prepared.push('%');
                    break;
                }
                'h' | 'l' | 'L' => continue,
                'a'..='z' | 'A'..='Z' => {
                    by_name = by_name || named;
                    if !named {
                        if let (Some(value), true) = (args.get_mut(taken), "rsa".contains(c)) {
                            *value = Value::from(if c == 's' { python::text(value) } else { python::repr(value) });
                        }
                        taken += 1;
                    }
                    prepared.push(if !named && "ra".contains(c) { 's' } else { c });
                    break;
                }
                _ => {}
            }
            prepared.push(c);
        }
        if is_too_wide(prepared[begin..].rsplit(')').next().unwrap_or("")) {
            return Err(invalid(format!("a format is at most {WIDEST} wide")));
        }
    }
    Ok((prepared, (!by_name).then_some(taken)))
}

pub fn printf(form: &str, mut args: Vec<Value>) -> Result<Value, Error> {
    let (form, takes) = prepared(form, &mut args)?;
    match takes {
        // A map of names may also be given to a format that asks for none.
        Some(takes) if args.len() > takes && !(args.len() == 1 && args[0].kind() == ValueKind::Map) => {
            Err(invalid(format!("not all arguments converted: the format takes {takes} values, and {} are given", args.len())))
        }
        _ => format(FormatStyle::Printf, &form, &args).map(Value::from),
    }
}

fn format_filter(form: &str, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let mut args = args.to_vec();
    if kwargs.args().next().is_some() {
        args.push(kwargs.into());
    }
    printf(form, args)
}

/// The operator: Python's `"text" % value`, and its remainder of numbers.
fn percent(state: &mut State, left: Value, right: Value) -> Result<Value, Error> {
    if let Some(form) = left.as_str() {
        return printf(form, if right.is_tuple() { right.try_iter()?.collect() } else { vec![right] });
    }
    if let (Some(a), Some(b @ 1..)) = (left.as_i64(), right.as_i64()) {
        return Ok(Value::from(a.rem_euclid(b)));
    }
    state.env().compile_expression("a % b")?.eval(minijinja::context! { a => left, b => right })
}

pub fn add_all(env: &mut Environment) {
    env.add_filter("_dictsort", minijinja::filters::dictsort);
    env.add_filter("_percent", percent);
    env.add_filter("center", center);
    env.add_filter("d", default);
    env.add_filter("default", default);
    env.add_filter("dictsort", dictsort);
    env.add_filter("e", escape);
    env.add_filter("escape", escape);
    env.add_filter("filesizeformat", minijinja_contrib::filters::filesizeformat);
    env.add_filter("float", float);
    env.add_filter("forceescape", |value: Value| escape(Value::from(python::text(&value))));
    env.add_filter("format", format_filter);
    env.add_filter("indent", indent);
    env.add_filter("int", int);
    env.add_filter("string", |value: Value| if value.as_str().is_some() { value } else { Value::from(python::text(&value)) });
    env.add_filter("striptags", minijinja_contrib::filters::striptags);
    env.add_filter("tojson", tojson);
    env.add_filter("truncate", truncate);
    env.add_filter("urlencode", urlencode);
    env.add_filter("wordcount", wordcount);
    env.add_test("sequence", |value: Value| {
        matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String) || value.len().is_some()
    });
    env.add_function("cycler", |items: Rest<Value>| minijinja_contrib::globals::cycler(items.to_vec()));
    env.add_function("joiner", minijinja_contrib::globals::joiner);
}

/// For methods: the arguments that Python's padding takes.
pub fn width_and_fill(args: &[Value]) -> Result<(usize, char), Error> {
    let (width, fill): (i64, Option<char>) = from_args(args)?;
    Ok((usize::try_from(width).unwrap_or(0), fill.unwrap_or(' ')))
}
