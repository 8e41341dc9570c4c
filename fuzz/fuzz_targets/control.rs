//! What coordinator and workers say to each other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use rheos_protocol::codec::{event_from, from_json, restore_from};
use rheos_protocol::v1;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(v1::FromWorker { message: Some(v1::from_worker::Message::AttemptEvent(said)) }) = v1::FromWorker::decode(bytes)
        && let Some(event) = said.event
    {
        let _ = event_from(said.attempt, event);
    }
    if let Ok(v1::ToWorker { message: Some(v1::to_worker::Message::Deploy(deploy)) }) = v1::ToWorker::decode(bytes) {
        let _ = restore_from(deploy.restore);
        let _ = from_json::<rheos_graph::Placement>("a placement", &deploy.placement_json);
    }
    let _ = from_json::<rheos_graph::TaskGraph>("a task graph", bytes);
    let _ = from_json::<rheos_graph::JobMetrics>("metrics", bytes);
});
