//! What another worker sends: frames of the data plane, and the rows in them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // An error is right; a panic or an allocation beyond the limit is not.
    let _ = rheos_exchange::net::decode_frames(bytes, 1 << 20);
});
