//! Barriers through an inbox task: rows before them are in the snapshot, rows behind them wait.

use std::sync::Arc;

use rheos_checkpoint::Alignment;
use rheos_core::element::{Barrier, Element};
use rheos_core::env::Env;
use rheos_core::operator::{OperatorContext, SubtaskInfo};
use rheos_core::routing::KeyGroups;
use rheos_core::rows::RowBatch;
use rheos_core::snapshot::OperatorSnapshot;
use rheos_core::time::{Watermark, WatermarkMerger};
use rheos_exchange::{ChannelLimits, CoalesceLimits, Inbox, OutEdge, Outbox, Partitioner};
use rheos_state::typed::{StateDescriptor, ValueState};

use super::fixtures::{Event, RunningCount, event};
use crate::chain::Chain;
use crate::control::mailbox;
use crate::inbox_task::InboxTask;
use crate::output::Output;
use crate::part::{Origins, Recorded, TakenPart};
use crate::report::TaskEvent;
use crate::snapshots::Snapshots;

fn rows(keys: &[u64]) -> Element {
    Element::Batch(RowBatch::new(keys.iter().map(|k| event(*k, 0)).collect()).into())
}

/// How often each key was counted, as a snapshot says.
fn counts(info: &SubtaskInfo, snapshot: &OperatorSnapshot) -> Vec<(u64, u64)> {
    let state: ValueState<u64, u64> = ValueState::open(&StateDescriptor::new("counts"), info, Some(snapshot)).unwrap();
    let mut counts: Vec<(u64, u64)> = state.iter().map(|(k, v)| (*k, *v)).collect();
    counts.sort_unstable();
    counts
}

#[tokio::test]
async fn a_snapshot_holds_what_came_before_the_barrier_on_every_input() {
    let env = Env::manual(1);
    let metrics = Arc::default();
    let (inbox, mut senders) = Inbox::new(vec![0, 0], ChannelLimits::default(), Arc::clone(&metrics));
    let (mut follower, to_follower) = Inbox::new(vec![0], ChannelLimits::default(), Arc::default());
    let edge = OutEdge::new(Partitioner::Forward, to_follower, false).unwrap();
    let outbox = Outbox::new(vec![edge], CoalesceLimits::default(), Arc::clone(&metrics));
    let info = SubtaskInfo {
        job: String::new(),
        uid: "count".into(),
        name: "count".into(),
        index: 0,
        parallelism: 1,
        key_groups: KeyGroups::all(128),
        key_group_count: 128,
    };
    let mut chain = Chain::new(Arc::clone(&env.clock), Arc::clone(&metrics));
    let context = OperatorContext { subtask: info.clone(), env: env.clone(), metrics: Arc::default() };
    chain.add_operator(Box::<RunningCount>::default(), context, 1000, None);
    let (reports, mut events) = tokio::sync::mpsc::unbounded_channel();
    let (_controls, mailbox) = mailbox();
    let mut task = InboxTask {
        inbox,
        merger: WatermarkMerger::new(2),
        alignment: Alignment::new([true, true]),
        chain,
        output: Output::new(outbox, Arc::clone(&env.clock), Arc::clone(&metrics)),
        snapshots: Snapshots {
            origins: Origins { inputs: vec![(0, 0), (0, 1)], outputs: vec![1], ..Origins::default() },
            nodes: vec![0],
            in_flight: Vec::new(),
            wants_full: Arc::default(),
            reports,
            recorded: Recorded::default(),
            open: None,
            aligning_since_ns: None,
            last_epoch: 0,
        },
        mailbox,
        clock: Arc::clone(&env.clock),
        metrics,
    };

    let barrier = |epoch| Element::Barrier(Barrier::aligned(epoch));
    let early = [rows(&[1]), barrier(1), rows(&[1, 1]), Element::Watermark(Watermark::At(5)), barrier(2), Element::End];
    // The second input ends before the second barrier: it is not waited for.
    let late = [rows(&[2]), rows(&[1]), Element::Watermark(Watermark::At(4)), barrier(1), rows(&[3]), Element::End];
    for (sender, elements) in senders.iter_mut().zip([early, late]) {
        for element in elements {
            sender.send(element).await.unwrap();
        }
    }
    task.run().await.unwrap();

    let mut taken: Vec<(u64, TakenPart)> = Vec::new();
    while let Ok(TaskEvent::Taken { barrier, part }) = events.try_recv() {
        taken.push((barrier.epoch, *part));
    }
    assert_eq!(taken.iter().map(|(epoch, _)| *epoch).collect::<Vec<_>>(), [1, 2]);
    let mut kept = OperatorSnapshot::new();
    for ((_, mut part), expected) in taken.into_iter().zip([vec![(1, 2), (2, 1)], vec![(1, 4), (2, 1), (3, 1)]]) {
        kept.follow(part.states.remove(0).1);
        assert_eq!(counts(&info, &kept), expected);
    }

    let mut followed = Vec::new();
    while let Some(received) = follower.try_next().unwrap() {
        followed.push(match received.element {
            Element::Batch(batch) => {
                let mut keys: Vec<u64> = batch.into_rows().unwrap().downcast::<Event>().unwrap().iter().map(|e| e.key).collect();
                keys.sort_unstable();
                format!("{keys:?}")
            }
            Element::Watermark(w) => format!("{w:?}"),
            Element::Barrier(b) => format!("Barrier({})", b.epoch),
            Element::End => "End".into(),
        });
    }
    let first = followed.iter().position(|e| e == "Barrier(1)").unwrap();
    assert_eq!(followed[..first].join(" "), "[1, 1, 2]", "behind the barrier no row of before, and no watermark merged yet");
    assert_eq!(followed.last().unwrap(), "End");
}
