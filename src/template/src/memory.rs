//! A limit on what a render may allocate. Rust aborts where it gets no memory, which would look like any other crash.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// engine.h: ENGINE_MEMORY_STATUS.
const EXIT_MEMORY: i32 = 71;

pub struct Limited;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

extern "C" {
    fn _exit(status: i32) -> !;
}

pub fn limit(bytes: usize) {
    MOST.store(if bytes == 0 { usize::MAX } else { bytes }, Ordering::Relaxed);
}

fn take(bytes: usize) {
    if USED.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MOST.load(Ordering::Relaxed) {
        unsafe { _exit(EXIT_MEMORY) }
    }
}

unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        System.dealloc(ptr, layout)
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if new_size > layout.size() {
            take(new_size - layout.size());
        } else {
            USED.fetch_sub(layout.size() - new_size, Ordering::Relaxed);
        }
        System.realloc(ptr, layout, new_size)
    }
}
