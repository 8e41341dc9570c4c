//! Two networks in one process, with a proxy between them that treats connections badly.

mod channels;
mod codec;
mod faults;
mod proxy;
mod strangers;

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures_util::future::BoxFuture;
use rheos_core::Batch;
use rheos_core::batch::ColumnBatch;
use rheos_core::element::Element;
use rheos_core::env::{Clock, system_monotonic_ns, system_now_ms};
use rheos_core::time::TimestampMs;
use tokio::runtime::Runtime;

use super::{ChannelId, Network, NetworkOptions, Peer};
use crate::{ChannelLimits, Inbox, Sender};
use proxy::Proxy;

/// The system's time.
struct TestClock;

impl Clock for TestClock {
    fn now_ms(&self) -> TimestampMs {
        system_now_ms()
    }

    fn monotonic_ns(&self) -> u64 {
        system_monotonic_ns()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn bind(options: NetworkOptions) -> Network {
    Network::bind("127.0.0.1:0".parse().unwrap(), options, Arc::new(TestClock)).await.unwrap()
}

/// Process 1, which dials, and process 2; what goes between them goes through the proxy.
struct Pair {
    one: Network,
    two: Network,
    proxy: Proxy,
}

impl Pair {
    async fn new(change: impl Fn(&mut NetworkOptions)) -> Pair {
        let options = |id| {
            let mut options = NetworkOptions::new(id);
            change(&mut options);
            options
        };
        let (one, two) = (bind(options(1)).await, bind(options(2)).await);
        let proxy = Proxy::new(two.local_address()).await;
        Pair { one, two, proxy }
    }

    /// Process 2 as process 1 sees it, and the other way round.
    fn peers(&self) -> (Peer, Peer) {
        (Peer { id: 2, address: self.proxy.address().to_string() }, Peer { id: 1, address: self.one.local_address().to_string() })
    }

    /// `count` channels from one to two, into one inbox.
    fn forward(&self, deployment: u64, count: usize, limits: ChannelLimits) -> (Vec<Sender>, Inbox) {
        let (two, one) = self.peers();
        channels(&self.one, &two, &self.two, &one, deployment, count, limits)
    }

    /// `count` channels from two to one.
    fn backward(&self, deployment: u64, count: usize, limits: ChannelLimits) -> (Vec<Sender>, Inbox) {
        let (two, one) = self.peers();
        channels(&self.two, &one, &self.one, &two, deployment, count, limits)
    }
}

fn channels(
    from: &Network,
    to: &Peer,
    into: &Network,
    of: &Peer,
    deployment: u64,
    count: usize,
    limits: ChannelLimits,
) -> (Vec<Sender>, Inbox) {
    let (inbox, locals) = Inbox::new(vec![0; count], limits, Arc::default());
    let id = |i: usize| ChannelId { deployment, edge: 0, sender: i as u32, receiver: 0 };
    for (i, local) in locals.into_iter().enumerate() {
        into.receive(of, id(i), limits, local).unwrap();
    }
    ((0..count).map(|i| from.sender(to, id(i), limits, Arc::default())).collect(), inbox)
}

fn limits(bytes: usize) -> ChannelLimits {
    ChannelLimits { bytes, rows: usize::MAX }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true), Field::new("text", DataType::Utf8, true)]))
}

/// Rows that carry `values`, of one schema that is the same in memory for as long as the thread lives.
fn records(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    thread_local!(static SCHEMA: SchemaRef = schema());
    let values: Vec<i64> = values.into_iter().collect();
    let text = StringArray::from_iter(values.iter().map(|v| if v % 5 == 0 { None } else { Some(format!("row {v}")) }));
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(values)), Arc::new(text)];
    RecordBatch::try_new(SCHEMA.with(Arc::clone), columns).unwrap()
}

fn rows(values: impl IntoIterator<Item = i64>) -> Element {
    Element::Batch(Batch::Columns(ColumnBatch::inserts(records(values))))
}

/// Everything that can be seen of an element.
fn show(element: &Element) -> String {
    match element {
        Element::Batch(Batch::Columns(batch)) => format!("{:?} {:?}", batch.records(), batch.kinds()),
        other => format!("{other:?}"),
    }
}

/// The numbers in a batch.
fn numbers(element: &Element) -> Vec<i64> {
    let Element::Batch(Batch::Columns(batch)) = element else { panic!("columns expected: {element:?}") };
    batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
}

/// Waits until something is so.
async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
