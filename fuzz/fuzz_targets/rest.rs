//! What comes with REST: scripts as JSON to the coordinator, rows of a query to the client.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = serde_json::from_slice::<rheos_coordinator::Submission>(bytes);
    let _ = rheos_core::batch_bytes::decode(bytes);
});
