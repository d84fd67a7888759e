//! What C gives and takes: src/template/engine.h, whose types these are.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::slice;

/// A borrowed string: no NUL at its end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub bytes: *const c_char,
    pub len: usize,
}

impl Text {
    /// What is no UTF-8 is read as empty: C has checked it.
    pub fn str<'a>(self) -> &'a str {
        if self.bytes.is_null() {
            return "";
        }
        let bytes = unsafe { slice::from_raw_parts(self.bytes.cast::<u8>(), self.len) };
        std::str::from_utf8(bytes).unwrap_or("")
    }

    pub fn of(text: &str) -> Text {
        Text { bytes: text.as_ptr().cast(), len: text.len() }
    }
}

/// A JSON value of C's: null and its like are distinguished by `kind`. Nothing changes it while a template is rendered.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodePtr(pub *const c_void);
unsafe impl Send for NodePtr {}
unsafe impl Sync for NodePtr {}

impl NodePtr {
    pub const NULL: NodePtr = NodePtr(std::ptr::null());

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// What C has and gives back to itself: all resources, the certificates that it has parsed.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Handle(pub *mut c_void);
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

pub const KIND_NULL: c_int = 0;
pub const KIND_BOOL: c_int = 1;
pub const KIND_UINT: c_int = 2;
pub const KIND_INT: c_int = 3;
pub const KIND_REAL: c_int = 4;
pub const KIND_STRING: c_int = 5;
pub const KIND_ARRAY: c_int = 6;
pub const KIND_OBJECT: c_int = 7;

#[repr(C)]
pub struct Scalar {
    pub kind: c_int,
    pub truth: bool,
    pub number: u64, // as its kind says: also an i64's bits
    pub real: f64,
    pub text: Text,
    pub size: usize, // of an array or an object
}

#[repr(C)]
pub struct Source {
    pub name: Text,
    pub text: Text,
    pub priority: i64,
}

#[repr(C)]
pub struct Variable {
    pub name: Text,
    pub value: NodePtr,
}

#[repr(C)]
pub struct Unset {
    pub value: NodePtr,
    pub text: Text,
}

#[repr(C)]
pub struct Output {
    pub kind: c_int,
    pub name: Text,
    pub source: Text, // of which template
}

/// engine.h: struct engine_job.
#[repr(C)]
pub struct Job {
    pub lenient: bool,
    pub keep_newline: bool,
    pub trim_blocks: bool,
    pub ends: bool,
    pub fuel: u64,
    pub memory_bytes: usize,
    pub sources: *const Source,
    pub source_count: usize,
    pub variables: *const Variable,
    pub variable_count: usize,
    pub outputs: *const Output,
    pub output_count: usize,
    pub folders: [Text; 3],
    pub resources: Handle, // NULL: there are none
    pub known: Handle,     // certificates that need no other check; NULL: none
    pub owners: Text,      // of hosts, "HOST NAMESPACE[ held]\n" for each
    pub before: Text,      // the haproxy.cfg that was given last
    pub unset: Unset,
    pub arg: *mut c_void,
    pub emit: extern "C" fn(arg: *mut c_void, record: *const Record),
}

pub const RECORD_OUTPUT: c_int = 0; // kind, name, text
pub const RECORD_WARNING: c_int = 1; // object, text: it is to be left out
pub const RECORD_EVENT: c_int = 2; // object, text
pub const RECORD_ERROR: c_int = 3; // text, name, line, column, source line, object (or NULL)
pub const RECORD_OWNERS: c_int = 4; // text, as those of the job
pub const RECORD_PLACED: c_int = 5; // what is rendered depends on `before` of the job

#[repr(C)]
pub struct Record {
    pub what: c_int,
    pub kind: c_int,
    pub name: Text,
    pub text: Text,
    pub source_line: Text,
    pub line: u64,
    pub column: u64,
    pub object: NodePtr,
}

impl Record {
    pub fn new(what: c_int) -> Record {
        Record {
            what,
            kind: 0,
            name: Text::of(""),
            text: Text::of(""),
            source_line: Text::of(""),
            line: 0,
            column: 0,
            object: NodePtr::NULL,
        }
    }
}

extern "C" {
    /// What C has allocated.
    fn free(bytes: *mut c_void);
    /// NULL: it is none. Else to be freed by free.
    fn engine_base64_decode(text: Text, ret_len: *mut usize) -> *mut c_void;
    /// Of a map, a certificate, a file: to be freed by free.
    fn engine_stored_name(kind: c_int, name: Text) -> *mut c_char;
    /// NULL: it can be stored. Else why not, to be freed by free.
    fn engine_file_problem(known: Handle, kind: c_int, name: Text, bytes: Text, ret_place: *mut c_int) -> *mut c_char;

    pub fn engine_node_read(node: NodePtr, ret: *mut Scalar);
    pub fn engine_node_get(object: NodePtr, key: *const c_char, len: usize) -> NodePtr;
    pub fn engine_node_at(array: NodePtr, index: usize) -> NodePtr;
    /// The first element (of an object: the first key); the next one of it. NULL: there is none.
    pub fn engine_node_first(container: NodePtr) -> NodePtr;
    pub fn engine_node_next(element: NodePtr, is_key: bool) -> NodePtr;

    /// False: there are fewer.
    pub fn engine_resource_name(resources: Handle, index: usize, ret: *mut Text) -> bool;
    /// Those that are not left out; borrowed until something is left out.
    pub fn objects_list(resources: Handle, resource: usize, ret: *mut *const NodePtr) -> usize;
    pub fn engine_resource_fetch(resources: Handle, resource: usize, keys: *const Text, count: usize, ret: *mut *const NodePtr) -> usize;
    /// Whether an annotation asks for a protection of its host.
    pub fn engine_protects(name: Text, value: Text) -> bool;
    /// How many keys its index has; 0: none.
    pub fn engine_resource_keys(resources: Handle, resource: usize) -> usize;
}

/// A text of C's that is ours to free; None: it is NULL.
unsafe fn taken(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let own = CStr::from_ptr(text).to_string_lossy().into_owned();
    free(text.cast());
    Some(own)
}

/// The name that a file of that kind is stored by, which is a Data Plane API's.
pub fn stored_name(kind: usize, name: &str) -> String {
    unsafe { taken(engine_stored_name(kind as c_int, Text::of(name))) }.unwrap_or_default()
}

/// The kind whose folder a file of that kind is put into; else why it cannot be stored.
pub fn place_of(known: Handle, kind: usize, name: &str, content: &[u8]) -> Result<usize, String> {
    let mut place = kind as c_int;
    let bytes = Text { bytes: content.as_ptr().cast(), len: content.len() };
    match unsafe { taken(engine_file_problem(known, kind as c_int, Text::of(name), bytes, &mut place)) } {
        Some(problem) => Err(problem),
        None => Ok(place as usize),
    }
}

/// None: it is no base64.
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let mut len = 0;
    unsafe {
        let bytes = engine_base64_decode(Text::of(text), &mut len);
        if bytes.is_null() {
            return None;
        }
        let own = slice::from_raw_parts(bytes.cast::<u8>(), len).to_vec();
        free(bytes);
        Some(own)
    }
}

pub unsafe fn slice<'a, T>(list: *const T, count: usize) -> &'a [T] {
    if list.is_null() {
        &[]
    } else {
        slice::from_raw_parts(list, count)
    }
}
