//! The memory of a render, and a limit on it: Rust aborts where it gets no memory, as in any other crash. What is
//! small, which is nearly all, is cut from one large piece in a process that ends with its render: what is given back waits in a
//! list for the next one of its size. All else is malloc's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// engine.h: ENGINE_MEMORY_STATUS.
const EXIT_MEMORY: i32 = 71;

const STEP: usize = 16;
const SIZES: usize = 64; // small: up to STEP * SIZES bytes

extern "C" {
    fn _exit(status: i32) -> !;
    /// engine.h. NULL: there is none.
    fn engine_piece(bytes: usize) -> *mut c_void;
}

pub struct Limited;

/// An engine has one thread: nothing below is changed by two at a time.
static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

static PIECE: AtomicUsize = AtomicUsize::new(0); // where it begins
static PIECE_BYTES: AtomicUsize = AtomicUsize::new(0); // 0: there is none
static PIECE_CUT: AtomicUsize = AtomicUsize::new(0);
#[allow(clippy::declare_interior_mutable_const)] // the first value of each
const NOTHING: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static FREE: [AtomicPtr<u8>; SIZES + 1] = [NOTHING; SIZES + 1]; // by their size in steps

pub fn limit(bytes: usize) {
    MOST.store(if bytes == 0 { usize::MAX } else { bytes }, Relaxed);
}

/// For a process that ends with its render.
pub fn cut_from_one_piece(bytes: usize) {
    if PIECE_BYTES.load(Relaxed) != 0 {
        return;
    }
    let piece = unsafe { engine_piece(bytes) };
    if !piece.is_null() {
        PIECE.store(piece as usize, Relaxed);
        PIECE_BYTES.store(bytes, Relaxed);
    }
}

/// Of which size, in steps, what is small is cut.
fn steps(bytes: usize) -> usize {
    (bytes + STEP - 1) / STEP
}

fn is_small(layout: &Layout) -> bool {
    layout.size() <= STEP * SIZES && layout.align() <= STEP
}

fn is_cut(ptr: *mut u8) -> bool {
    (ptr as usize).wrapping_sub(PIECE.load(Relaxed)) < PIECE_BYTES.load(Relaxed)
}

/// NULL: there is no piece, or nothing is left of it.
unsafe fn cut(bytes: usize) -> *mut u8 {
    let free = &FREE[steps(bytes)];
    let first = free.load(Relaxed);
    if !first.is_null() {
        free.store(*first.cast::<*mut u8>(), Relaxed);
        return first;
    }
    let (at, bytes) = (PIECE_CUT.load(Relaxed), steps(bytes) * STEP);
    if PIECE_BYTES.load(Relaxed) - at < bytes {
        return ptr::null_mut();
    }
    PIECE_CUT.store(at + bytes, Relaxed);
    (PIECE.load(Relaxed) + at) as *mut u8
}

unsafe fn give_back(ptr: *mut u8, bytes: usize) {
    let free = &FREE[steps(bytes)];
    *ptr.cast::<*mut u8>() = free.load(Relaxed);
    free.store(ptr, Relaxed);
}

fn take(bytes: usize) {
    let used = USED.load(Relaxed).saturating_add(bytes);
    USED.store(used, Relaxed);
    if used > MOST.load(Relaxed) {
        unsafe { _exit(EXIT_MEMORY) }
    }
}

fn untake(bytes: usize) {
    USED.store(USED.load(Relaxed).wrapping_sub(bytes), Relaxed);
}

unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        let own = if is_small(&layout) { cut(layout.size()) } else { ptr::null_mut() };
        if own.is_null() {
            System.alloc(layout)
        } else {
            own
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        untake(layout.size());
        if is_cut(ptr) {
            give_back(ptr, layout.size());
        } else {
            System.dealloc(ptr, layout);
        }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if is_cut(ptr) && steps(new_size) != steps(layout.size()) {
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(ptr, new, layout.size().min(new_size));
                self.dealloc(ptr, layout);
            }
            return new;
        }
        if new_size > layout.size() {
            take(new_size - layout.size());
        } else {
            untake(layout.size() - new_size);
        }
        if is_cut(ptr) {
            return ptr;
        }
        System.realloc(ptr, layout, new_size)
    }
}
