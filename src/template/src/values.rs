//! JSON values and watched resources of C's as objects of a template: looked up when a template asks for them, never copied whole.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex};

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, ErrorKind, State, Value};

use crate::abi::*;

/// The object of a watched resource that a template was given last: what an error is probably about.
static CURRENT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

pub fn current() -> NodePtr {
    NodePtr(CURRENT.load(Ordering::Relaxed))
}

pub fn forget_current() {
    CURRENT.store(ptr::null_mut(), Ordering::Relaxed);
}

/// engine.h: struct engine_unset.
static UNSET: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static UNSET_TEXT: Mutex<String> = Mutex::new(String::new());

pub fn is_unset(value: &Unset) {
    UNSET.store(value.value.0.cast_mut(), Ordering::Relaxed);
    *UNSET_TEXT.lock().unwrap() = value.text.str().to_string();
}

fn handed_out(node: NodePtr) -> Value {
    CURRENT.store(node.0.cast_mut(), Ordering::Relaxed);
    to_value(node)
}

fn read(node: NodePtr) -> Scalar {
    let mut scalar = Scalar { kind: KIND_NULL, truth: false, number: 0, real: 0.0, text: Text::of(""), size: 0 };
    unsafe { engine_node_read(node, &mut scalar) };
    scalar
}

/// NULL is undefined; JSON's null is none.
pub fn to_value(node: NodePtr) -> Value {
    if node.is_null() {
        return Value::UNDEFINED;
    }
    if ptr::eq(node.0, UNSET.load(Ordering::Relaxed)) {
        return Value::from(Error::new(ErrorKind::InvalidOperation, UNSET_TEXT.lock().unwrap().clone()));
    }
    let scalar = read(node);
    match scalar.kind {
        KIND_BOOL => Value::from(scalar.truth),
        KIND_UINT => Value::from(scalar.number),
        KIND_INT => Value::from(scalar.number as i64),
        KIND_REAL => Value::from(scalar.real),
        KIND_STRING => Value::from(scalar.text.str()),
        KIND_ARRAY | KIND_OBJECT => Value::from_object(Node { at: node, kind: scalar.kind, size: scalar.size }),
        _ => Value::from(()),
    }
}

#[derive(Debug)]
pub struct Node {
    at: NodePtr,
    kind: c_int,
    size: usize,
}

/// The elements of an array, the keys of an object.
pub struct Elements {
    next: NodePtr,
    keys: bool,
    left: usize,
}

impl Iterator for Elements {
    type Item = NodePtr;

    fn next(&mut self) -> Option<NodePtr> {
        if self.left == 0 {
            return None;
        }
        let now = self.next;
        self.left -= 1;
        self.next = unsafe { engine_node_next(now, self.keys) };
        Some(now)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl Node {
    fn elements(&self) -> Elements {
        Elements { next: unsafe { engine_node_first(self.at) }, keys: self.kind == KIND_OBJECT, left: self.size }
    }
}

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.kind == KIND_ARRAY {
            ObjectRepr::Seq
        } else {
            ObjectRepr::Map
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match (self.kind, key.as_str()) {
            (KIND_OBJECT, Some(name)) => self.get_value_by_str(name),
            (KIND_ARRAY, None) => match key.as_usize() {
                Some(i) if i < self.size => Some(to_value(unsafe { engine_node_at(self.at, i) })),
                _ => None,
            },
            _ => None,
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if self.kind != KIND_OBJECT {
            return None;
        }
        let found = unsafe { engine_node_get(self.at, key.as_ptr().cast(), key.len()) };
        (!found.is_null()).then(|| to_value(found))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Iter(Box::new(self.elements().map(to_value)))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.size)
    }
}

/// The JSON value that it is; NULL: another one.
pub fn node_of(value: &Value) -> NodePtr {
    value.downcast_object_ref::<Node>().map_or(NodePtr::NULL, |node| node.at)
}

/// What a filter is given: a value, or a JSON value of C's within it, which is read where it is, as no template sees it.
pub enum Given {
    Json(NodePtr, Scalar),
    Value(Value),
}

impl From<Value> for Given {
    fn from(value: Value) -> Given {
        match node_of(&value) {
            node if node.is_null() => Given::Value(value),
            node => Given::Json(node, read(node)),
        }
    }
}

impl Given {
    fn of(node: NodePtr) -> Given {
        if node.is_null() {
            Given::Value(Value::UNDEFINED)
        } else {
            Given::Json(node, read(node))
        }
    }

    pub fn value(&self) -> Value {
        match self {
            Given::Json(node, _) => to_value(*node),
            Given::Value(value) => value.clone(),
        }
    }

    /// Undefined where it has none of that name, and where it is no map.
    pub fn get(&self, name: &str) -> Given {
        match self {
            Given::Json(node, scalar) if scalar.kind == KIND_OBJECT => {
                Given::of(unsafe { engine_node_get(*node, name.as_ptr().cast(), name.len()) })
            }
            Given::Json(..) => Given::Value(Value::UNDEFINED),
            Given::Value(value) => Given::Value(value.get_attr(name).unwrap_or(Value::UNDEFINED)),
        }
    }

    pub fn each(&self) -> impl Iterator<Item = Given> {
        let (json, values) = match self {
            Given::Json(node, scalar) if matches!(scalar.kind, KIND_ARRAY | KIND_OBJECT) => {
                (Some(Node { at: *node, kind: scalar.kind, size: scalar.size }.elements()), None)
            }
            Given::Json(..) => (None, None),
            Given::Value(value) => (None, value.try_iter().ok()),
        };
        json.into_iter().flatten().map(Given::of).chain(values.into_iter().flatten().map(Given::from))
    }

    /// Of a list.
    pub fn first(&self) -> Given {
        match self {
            Given::Json(node, scalar) if scalar.kind == KIND_ARRAY && scalar.size > 0 => Given::of(unsafe { engine_node_first(*node) }),
            Given::Json(..) => Given::Value(Value::UNDEFINED),
            Given::Value(value) => value.get_item_by_index(0).map_or(Given::Value(Value::UNDEFINED), Given::from),
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Given::Json(_, scalar) => (scalar.kind == KIND_STRING).then(|| scalar.text.str()),
            Given::Value(value) => value.as_str(),
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        self.value().as_i64()
    }

    pub fn is_true(&self) -> bool {
        match self {
            Given::Json(_, scalar) if scalar.kind == KIND_BOOL => scalar.truth,
            _ => self.value().is_true(),
        }
    }

    /// Undefined, or none.
    pub fn is_nothing(&self) -> bool {
        match self {
            Given::Json(_, scalar) => scalar.kind == KIND_NULL,
            Given::Value(value) => value.is_undefined() || value.is_none(),
        }
    }
}

/// Objects of a resource: all of them, or those of a key.
#[derive(Debug)]
struct Objects(&'static [NodePtr]);

impl Object for Objects {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_usize().and_then(|i| self.0.get(i)).map(|node| handed_out(*node))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Iter(Box::new(self.0.iter().map(|node| handed_out(*node))))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }
}

/// `resources`: what is watched, by the names of the template set.
#[derive(Debug)]
pub struct Resources(pub Handle);

impl Resources {
    fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let mut name = Text::of("");
        (0..).map_while(move |at| unsafe { engine_resource_name(self.0, at, &mut name) }.then(|| name.str()))
    }
}

impl Object for Resources {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().and_then(|name| self.get_value_by_str(name))
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        let at = self.names().position(|own| own == name)?;
        Some(Value::from_object(Resource { all: self.0, at, name: name.into() }))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.names().map(Value::from).collect())
    }
}

#[derive(Debug)]
struct Resource {
    all: Handle,
    at: usize,
    name: String,
}

impl Resource {
    fn list(&self) -> Objects {
        let mut list = ptr::null();
        let count = unsafe { objects_list(self.all, self.at, &mut list) };
        Objects(unsafe { slice(list, count) })
    }

    fn fetch(&self, method: &str, args: &[Value]) -> Result<Objects, Error> {
        let keys = unsafe { engine_resource_keys(self.all, self.at) };
        if args.is_empty() {
            return Ok(self.list());
        }
        if args.len() > keys {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("resources.{}.{method} has {} keys, and its index_by has {keys}", self.name, args.len()),
            ));
        }
        if args.iter().any(Value::is_undefined) {
            return Err(Error::new(ErrorKind::UndefinedError, format!("a key of resources.{}.{method}", self.name)));
        }
        let texts: Vec<Cow<str>> = args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string().into(), Cow::from)).collect();
        let borrowed: Vec<Text> = texts.iter().map(|text| Text::of(text)).collect();
        let mut list = ptr::null();
        let count = unsafe { engine_resource_fetch(self.all, self.at, borrowed.as_ptr(), borrowed.len(), &mut list) };
        Ok(Objects(unsafe { slice(list, count) }))
    }
}

impl Object for Resource {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Arc::new(self.list()).get_value(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Arc::new(self.list()).enumerate()
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.list().0.len())
    }

    fn call_method(self: &Arc<Self>, _state: &mut State<'_, '_>, method: &str, args: &[Value]) -> Result<Value, Error> {
        match method {
            "List" | "list" if args.is_empty() => Ok(Value::from_object(self.list())),
            "Fetch" | "fetch" => Ok(Value::from_object(self.fetch(method, args)?)),
            "GetSingle" | "get_single" => {
                let found = self.fetch(method, args)?;
                match found.0 {
                    [] => Ok(Value::from(())),
                    [one] => Ok(handed_out(*one)),
                    many => Err(Error::new(
                        ErrorKind::InvalidOperation,
                        format!("resources.{}.{method} finds {} objects, not one: give it more keys", self.name, many.len()),
                    )),
                }
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}
