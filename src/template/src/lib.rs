//! Renders the templates of one set over C's own objects: the engine behind src/template/engine.h. It runs in a child process of its
//! own, which may end by a limit at any time; a panic is an error.

mod abi;
mod builtins;
mod collect;
mod endpoints;
mod filters;
mod hosts;
mod memory;
mod methods;
mod python;
mod rewrite;
mod routes;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::abi::*;
use crate::filters::{glob, invalid};

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited;

const KINDS: [&str; 3] = ["map", "certificate", "file"];
const CERTIFICATE: usize = 1;

/// What templates say besides their text.
#[derive(Default)]
struct Said {
    /// By kind and name, so that two of one name are noticed.
    files: BTreeMap<(usize, String), Vec<u8>>,
    /// Certificates whose path was asked for by their name alone.
    asked: BTreeSet<String>,
    records: Vec<(c_int, NodePtr, String)>,
    seen: Option<Arc<Mutex<collect::Seen>>>,
}

type Shared = Arc<Mutex<Said>>;

fn kind_of(name: &str) -> Result<usize, Error> {
    KINDS.iter().position(|kind| *kind == name).ok_or_else(|| invalid(format!("{name:?} is none of {}", KINDS.join(", "))))
}

fn bytes_of(content: Value) -> Vec<u8> {
    content.as_bytes().map_or_else(|| content.to_string().into_bytes(), <[u8]>::to_vec)
}

/// Where a file will be: certificates with an Ed25519 key are no certificates to a Data Plane API, and go to the other files.
/// What cannot be stored is refused later, with its name.
fn path_of(folders: &[String; 3], known: Handle, kind: usize, name: &str, content: Option<&[u8]>) -> String {
    let place = match content {
        Some(bytes) if kind == CERTIFICATE => place_of(known, kind, name, bytes).unwrap_or(kind),
        _ => kind,
    };
    format!("{}{}", folders[place], stored_name(place, name))
}

/// A path that a template has is the one by the name alone, and the file will be elsewhere.
fn check_asked(job: &Job, asked: &BTreeSet<String>, name: &str, content: &[u8]) -> Result<(), Error> {
    if !asked.contains(name) || place_of(job.known, CERTIFICATE, name, content).unwrap_or(CERTIFICATE) == CERTIFICATE {
        return Ok(());
    }
    Err(invalid(format!(
        "certificate {name}: it has an Ed25519 key and is stored among the other files, where path(\"certificate\", {name:?}) does not point to; \
         path(\"certificate\", {name:?}, CONTENT) does"
    )))
}

fn add_functions(env: &mut Environment, job: &Job, said: &Shared) {
    env.add_function("fail", |text: String| -> Result<Value, Error> { Err(invalid(text)) });
    for (name, what) in [("warn", RECORD_WARNING), ("event", RECORD_EVENT)] {
        let shared = said.clone();
        env.add_function(name, move |object: Value, text: String| -> Result<&str, Error> {
            let node = values::node_of(&object);
            if node.is_null() {
                return Err(invalid(format!("{name}: the first argument has to be an object of a watched resource")));
            }
            shared.lock().unwrap().records.push((what, node, text));
            Ok("")
        });
    }
    let folders: [String; 3] = job.folders.map(|folder| folder.str().to_string());
    let of = folders.clone();
    let known = job.known;
    let shared = said.clone();
    env.add_function("path", move |kind: &str, name: &str, content: Option<Value>| -> Result<String, Error> {
        let kind = kind_of(kind)?;
        if kind == CERTIFICATE && content.is_none() {
            shared.lock().unwrap().asked.insert(name.to_string());
        }
        Ok(path_of(&of, known, kind, name, content.map(bytes_of).as_deref()))
    });
    let shared = said.clone();
    env.add_function("file", move |kind: &str, name: &str, content: Value| -> Result<String, Error> {
        let at = kind_of(kind)?;
        let bytes = bytes_of(content);
        let path = path_of(&folders, known, at, name, Some(&bytes));
        let files = &mut shared.lock().unwrap().files;
        match files.get(&(at, name.to_string())) {
            Some(there) if *there != bytes => return Err(invalid(format!("{kind} {name}: it is there already, with another content"))),
            _ => files.insert((at, name.to_string()), bytes),
        };
        Ok(path)
    });
    let sources = unsafe { slice(job.sources, job.source_count) };
    let mut snippets: Vec<(i64, String)> = sources.iter().map(|s| (s.priority, s.name.str().to_string())).collect();
    snippets.sort();
    env.add_function("snippets", move |pattern: &str| -> Vec<String> {
        snippets.iter().filter(|(_, name)| glob(name, pattern)).map(|(_, name)| name.clone()).collect()
    });
}

/// The templates' sources as they were given, and what was rewritten in them.
type Rewritten = BTreeMap<String, Vec<rewrite::Insert>>;

fn environment(job: &Job, said: &Shared, rewritten: &mut Rewritten) -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.keep_trailing_newline(job.keep_newline).trim_blocks(job.trim_blocks).lstrip_blocks(job.trim_blocks);
    let syntax = syntax.build()?;
    env.set_syntax(syntax.clone());
    env.set_debug(true);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_undefined_behavior(if job.lenient { UndefinedBehavior::Lenient } else { UndefinedBehavior::Strict });
    env.set_fuel((job.fuel > 0).then_some(job.fuel));
    env.set_unknown_method_callback(methods::call);
    env.set_formatter(|out, state, value| match python::write_text(out, value) {
        Some(written) => written.map_err(Error::from), // as Python prints it
        None => minijinja::escape_formatter(out, state, value),
    });
    builtins::add_all(&mut env);
    filters::add_all(&mut env);
    said.lock().unwrap().seen = Some(collect::add_all(&mut env, job.known, job.owners.str()));
    add_functions(&mut env, job, said);
    for variable in unsafe { slice(job.variables, job.variable_count) } {
        env.add_global(variable.name.str().to_string(), values::to_value(variable.value));
    }
    if !job.resources.0.is_null() {
        env.add_global("resources", Value::from_object(values::Resources(job.resources)));
    }
    for source in unsafe { slice(job.sources, job.source_count) } {
        let (name, text) = (source.name.str(), source.text.str());
        let text = rewrite::percent(text, &syntax).map_or_else(
            || text.to_string(),
            |(text, inserts)| {
                rewritten.insert(name.to_string(), inserts);
                text
            },
        );
        env.add_template_owned(name.to_string(), text)?;
    }
    Ok(env)
}

fn emit(job: &Job, record: &Record) {
    (job.emit)(job.arg, record);
}

fn render_outputs(job: &Job, env: &Environment, said: &Shared) -> Result<(), Error> {
    let mut certificates = Vec::new();
    for output in unsafe { slice(job.outputs, job.output_count) } {
        values::forget_current();
        let text = env.get_template(output.source.str())?.render(())?;
        emit(job, &Record { kind: output.kind, name: output.name, text: Text::of(&text), ..Record::new(RECORD_OUTPUT) });
        if output.kind == CERTIFICATE as c_int + 1 {
            certificates.push((output.name.str(), text));
        }
    }
    let said = said.lock().unwrap();
    let files = said.files.iter().filter(|((kind, _), _)| *kind == CERTIFICATE).map(|((_, name), bytes)| (name.as_str(), bytes.as_slice()));
    for (name, bytes) in certificates.iter().map(|(name, text)| (*name, text.as_bytes())).chain(files) {
        check_asked(job, &said.asked, name, bytes)?;
    }
    Ok(())
}

fn render(job: &Job, rewritten: &mut Rewritten) -> Result<(), Error> {
    let said = Shared::default();
    values::is_unset(&job.unset);
    endpoints::begin(job.before.str());
    let env = environment(job, &said, rewritten)?;
    let done = render_outputs(job, &env, &said);
    let said = said.lock().unwrap();
    for ((kind, name), bytes) in said.files.iter().filter(|_| done.is_ok()) {
        let text = Text { bytes: bytes.as_ptr().cast(), len: bytes.len() };
        emit(job, &Record { kind: *kind as c_int + 1, name: Text::of(name), text, ..Record::new(RECORD_OUTPUT) });
    }
    if let Some(owners) = said.seen.as_ref().and_then(|seen| seen.lock().unwrap().hosts.owners()) {
        emit(job, &Record { text: Text::of(&owners), ..Record::new(RECORD_OWNERS) });
    }
    if endpoints::asked() {
        emit(job, &Record::new(RECORD_PLACED));
    }
    // Without what is left out there may be no error.
    for (what, node, text) in said.records.iter().filter(|(what, ..)| done.is_ok() || *what == RECORD_WARNING) {
        emit(job, &Record { text: Text::of(text), object: *node, ..Record::new(*what) });
    }
    // All is rendered anew where something is to be left out; else the process ends, which is quicker.
    if job.ends && said.records.iter().all(|(what, ..)| *what != RECORD_WARNING) {
        std::mem::forget(env);
    }
    done
}

/// The innermost error says where, the outer ones how it came there.
fn innermost(error: &Error) -> &Error {
    let mut at = error;
    while let Some(inner) = std::error::Error::source(at).and_then(|e| e.downcast_ref::<Error>()) {
        at = inner;
    }
    at
}

/// The line of a template as it was given, and the column in it, from 1; 0: not known.
fn place(job: &Job, rewritten: &Rewritten, at: &Error) -> (&'static str, usize) {
    let name = at.name().unwrap_or("");
    let given = unsafe { slice(job.sources, job.source_count) }.iter().find(|s| s.name.str() == name).map_or("", |s| s.text.str());
    let Some(number) = at.line().and_then(|line| line.checked_sub(1)) else { return ("", 0) };
    let line = given.split('\n').nth(number).unwrap_or("").trim_end_matches('\r');
    let Some(range) = at.range() else { return (line, 0) };
    let start = rewritten.get(name).map_or(range.start, |inserts| rewrite::original(inserts, range.start));
    (line, given.get(..start).map_or(0, |s| s.rsplit('\n').next().map_or(0, |l| l.chars().count() + 1)))
}

fn emit_error(job: &Job, rewritten: &Rewritten, error: &Error) {
    let at = innermost(error);
    let line = at.line().unwrap_or(0);
    let (source_line, column) = place(job, rewritten, at);
    let text = match (at.kind(), at.detail()) {
        (ErrorKind::OutOfFuel, _) => format!(
            "more than {} million steps: is there a loop without an end? TEMPLATE_TIMEOUT is the limit, 10 million for each second",
            job.fuel / 1_000_000
        ),
        (ErrorKind::InvalidOperation, Some(detail)) => detail.to_string(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    emit(
        job,
        &Record {
            name: Text::of(at.name().unwrap_or("")),
            text: Text::of(&text),
            source_line: Text::of(source_line),
            line: line as u64,
            column: column as u64,
            object: values::current(),
            ..Record::new(RECORD_ERROR)
        },
    );
}

/// 0: all outputs were emitted; -1: an error was.
///
/// # Safety
/// As engine.h says of struct engine_job.
#[no_mangle]
pub unsafe extern "C" fn engine_run_job(job: *const Job) -> c_int {
    let job = &*job;
    memory::limit(job.memory_bytes);
    if job.ends {
        memory::cut_from_one_piece(job.memory_bytes);
    }
    std::panic::set_hook(Box::new(|_| {}));
    values::forget_current();
    let mut rewritten = Rewritten::new();
    match catch_unwind(AssertUnwindSafe(|| render(job, &mut rewritten))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            emit_error(job, &rewritten, &error);
            -1
        }
        Err(_) => {
            emit(
                job,
                &Record {
                    text: Text::of("the template engine failed: please report this template"),
                    object: values::current(),
                    ..Record::new(RECORD_ERROR)
                },
            );
            -1
        }
    }
}
