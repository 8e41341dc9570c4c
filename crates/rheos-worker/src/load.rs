//! Reads a snapshot: files fetched and checked, made into what subtasks begin with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rheos_checkpoint::{DataHandle, InFlight, Manifest};
use rheos_core::key_group::KeyGroup;
use rheos_core::snapshot::{OperatorSnapshot, Segment};
use rheos_core::storage::Storage;
use rheos_core::{Batch, Error, Result, batch_bytes};

use crate::restore::{RestoredRows, RestoredState};
use crate::store::blocking;

/// How many files are read at a time.
const FILES_AT_A_TIME: usize = 8;

/// The state that a manifest names, from the storage that holds its files. Of keyed state only those instances are read of which
/// `wants` wants some key groups; it is asked with the uid of the operator.
pub async fn load(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    wants: impl Fn(&str, &BTreeSet<KeyGroup>) -> bool,
) -> Result<RestoredState> {
    let mut manifest = manifest.clone();
    for (uid, operator) in &mut manifest.operators {
        for subtask in operator.subtasks.values_mut() {
            subtask.keyed.retain(|_, chain| {
                let groups = chain.iter().flat_map(|segment| &segment.key_groups).map(|(group, _)| *group).collect();
                wants(uid, &groups)
            });
        }
    }
    let mut handles: BTreeMap<&str, &DataHandle> = BTreeMap::new();
    for handle in manifest.handles() {
        if let DataHandle::File { name, .. } = handle {
            handles.insert(name, handle);
        }
    }
    let fetch = |(name, handle): (&str, &DataHandle)| {
        let (name, handle, storage) = (name.to_string(), handle.clone(), Arc::clone(storage));
        async move {
            let missing = || Error::corrupt(format!("file '{name}' of the snapshot is missing in {}", storage.describe()));
            let bytes = storage.get(&name).await?.ok_or_else(missing)?;
            let checked = bytes.clone();
            blocking(move || handle.verify(&checked)).await?;
            Ok::<_, Error>((name, bytes))
        }
    };
    let fetches: Vec<_> = handles.into_iter().map(fetch).collect();
    let files: BTreeMap<String, Bytes> = stream::iter(fetches).buffer_unordered(FILES_AT_A_TIME).try_collect().await?;
    let state = RestoredState { epoch: manifest.epoch, ..RestoredState::default() };
    read(state, &manifest, &files).map_err(|e| e.context(format!("the snapshot of epoch {}", manifest.epoch)))
}

fn read(mut state: RestoredState, manifest: &Manifest, files: &BTreeMap<String, Bytes>) -> Result<RestoredState> {
    let content = |handle: &DataHandle| match handle {
        DataHandle::Inline { bytes } => Ok(Bytes::from(bytes.0.clone())),
        DataHandle::File { name, .. } => files.get(name).cloned().ok_or_else(|| Error::bug(format!("file '{name}' was not read"))),
    };
    let (mut had_left, mut had_not) = (Vec::new(), Vec::new());
    for (uid, operator) in &manifest.operators {
        let instances = state.operators.entry(uid.clone()).or_default();
        for subtask in operator.subtasks.values() {
            let mut snapshot = OperatorSnapshot::new();
            for (name, chain) in &subtask.keyed {
                let segment = |handle: &rheos_checkpoint::SegmentHandle| Segment::decode(content(&handle.data)?);
                let chain = chain.iter().map(segment).collect::<Result<Vec<_>>>();
                snapshot.put_chain(name, chain.map_err(|e| e.context(format!("state '{name}' of {}", operator.name)))?);
            }
            for (name, list) in &subtask.lists {
                list.items.iter().for_each(|item| snapshot.put_list(name, list.kind, item.0.clone()));
            }
            instances.push(snapshot);
            let (left, not): (Vec<&InFlight>, Vec<&InFlight>) = subtask.in_flight.iter().partition(|rows| rows.to == *uid);
            had_left.extend(left);
            had_not.extend(not);
        }
    }
    for InFlight { from, to, port, receiver, data, .. } in had_left.into_iter().chain(had_not) {
        for batch in batch_bytes::decode(&content(data)?)? {
            let batch = Batch::Columns(batch);
            state.in_flight.push(RestoredRows { from: from.clone(), to: to.clone(), port: *port, receiver: *receiver, batch });
        }
    }
    Ok(state)
}
