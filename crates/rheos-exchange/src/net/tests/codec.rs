//! Elements as frames and back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Int32Array, Int32Builder, Int64Array,
    LargeStringArray, ListBuilder, MapBuilder, NullArray, RecordBatch, RecordBatchOptions, StringArray, StringBuilder, StringViewArray,
    StructArray, TimestampMillisecondArray, UInt8Array,
};
use arrow::datatypes::{DataType, Field, Schema};
use proptest::prelude::*;
use rheos_core::Batch;
use rheos_core::batch::ColumnBatch;
use rheos_core::element::{Barrier, CheckpointKind, Element};
use rheos_core::error::{ErrorKind, Result};
use rheos_core::rows::RowBatch;
use rheos_core::time::Watermark;

use super::{rows, show};
use crate::net::decode_frames;
use crate::net::encode::{Encoder, Unnumbered};
use crate::net::handshake::frame_bytes;
use crate::net::header::FrameKind;
use crate::net::peer::ChannelId;

const MAX: usize = 1 << 20;

/// An element as bytes on the wire, with the schema that its receiver needs.
pub(super) fn wire(element: &Element, max: usize, compress: bool) -> Result<Vec<u8>> {
    let encoded = Encoder::new(max, compress).encode(element)?;
    let schema = encoded.schema.map(|s| Unnumbered::new(FrameKind::Schema, &crate::net::schema::encode(&s).unwrap()));
    Ok(schema.into_iter().chain(encoded.frames).flat_map(|f| frame_bytes(&f.numbered(ChannelId::NONE, 0))).collect())
}

fn there_and_back(element: &Element, compress: bool) -> Element {
    let mut back = decode_frames(&wire(element, MAX, compress).unwrap(), MAX).unwrap();
    assert_eq!(back.len(), 1);
    back.remove(0)
}

fn columns(columns: Vec<ArrayRef>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().enumerate().map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// Some of every type that SQL has.
pub(super) fn every_type() -> RecordBatch {
    let mut list = ListBuilder::new(Int32Builder::new());
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for i in 0..6 {
        if i % 4 != 3 {
            (0..i).for_each(|v| list.values().append_value(v));
            map.keys().append_value(format!("k{i}"));
            map.values().append_value(i);
        }
        list.append(i % 4 != 3);
        map.append(true).unwrap();
    }
    let list: ArrayRef = Arc::new(list.finish());
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("ü"), Some("longer text"), None]));
    let fields = vec![Field::new("l", list.data_type().clone(), true), Field::new("t", DataType::Utf8, true)];
    let nulls = vec![true, false, true, true, true, true].into();
    let record = StructArray::new(fields.into(), vec![Arc::clone(&list), Arc::clone(&text)], Some(nulls));
    columns(vec![
        list,
        text,
        Arc::new(map.finish()),
        Arc::new(record),
        Arc::new(NullArray::new(6)),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, Some(true), Some(true)])),
        Arc::new(
            Decimal128Array::from(vec![Some(1), None, Some(-3), Some(4), Some(5), Some(i128::MAX / 4)])
                .with_precision_and_scale(38, 2)
                .unwrap(),
        ),
        Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3, 4, 5, 6]).with_timezone("UTC")),
        Arc::new(BinaryArray::from(vec![&b"x"[..], b"", b"yy", b"z", b"\xFF", b"0"])),
        Arc::new(FixedSizeBinaryArray::try_from_iter((0u8..6).map(|i| [i; 3])).unwrap()),
        Arc::new(LargeStringArray::from(vec!["q"; 6])),
        Arc::new(Int32Array::from(vec![7; 6])),
    ])
}

#[test]
fn every_type_comes_back_whole_and_in_slices() {
    let all = every_type();
    for (from, to) in [(0, 6), (1, 4), (3, 6), (5, 6), (0, 1), (2, 3)] {
        for compress in [false, true] {
            let element = Element::Batch(ColumnBatch::inserts(all.slice(from, to - from)).into());
            assert_eq!(show(&there_and_back(&element, compress)), show(&element), "{from}..{to}");
        }
    }
}

#[test]
fn only_the_rows_of_a_slice_are_sent() {
    let all = ColumnBatch::inserts(super::records(0..10_000));
    let part = wire(&Element::Batch(all.slice(5000, 3).into()), MAX, false).unwrap();
    assert!(part.len() < 2000, "{} bytes", part.len());
}

#[test]
fn kinds_go_with_their_rows_and_no_columns_keep_their_number() {
    let kinds = UInt8Array::from(vec![1, 2, 0, 3, 0, 0]);
    let changes = Element::Batch(ColumnBatch::changes(every_type(), kinds).unwrap().slice(1, 4).into());
    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let bare = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    for element in [changes, Element::Batch(ColumnBatch::inserts(bare).into())] {
        for compress in [false, true] {
            assert_eq!(show(&there_and_back(&element, compress)), show(&element));
        }
    }
}

#[test]
fn what_is_no_batch_comes_back_with_all_its_parts() {
    let barrier = Barrier { epoch: 9, overtake_from_ms: Some(-5), kind: CheckpointKind::Savepoint, full: true };
    let last = Barrier { kind: CheckpointKind::Final, ..Barrier::aligned(u64::MAX) };
    let watermarks = [Watermark::At(i64::MIN), Watermark::At(7), Watermark::Idle, Watermark::Active].map(Element::Watermark);
    for element in watermarks.into_iter().chain([barrier, last].map(Element::Barrier)).chain([Element::End]) {
        assert_eq!(show(&there_and_back(&element, true)), show(&element));
    }
}

#[test]
fn a_batch_that_is_too_large_leaves_in_parts_and_a_row_does_not() {
    let wire = wire(&rows(0..4000), 16 << 10, false).unwrap();
    let parts = decode_frames(&wire, 16 << 10).unwrap();
    assert!(parts.len() > 4);
    assert_eq!(parts.iter().flat_map(super::numbers).collect::<Vec<_>>(), (0..4000).collect::<Vec<_>>());

    let row = columns(vec![Arc::new(StringArray::from(vec!["x".repeat(5000)]))]);
    let error = self::wire(&Element::Batch(ColumnBatch::inserts(row).into()), 4096, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FixConfig);
    assert!(error.to_string().contains("max_frame_bytes"), "{error}");
}

#[test]
fn what_has_no_codec_is_refused_by_the_sender() {
    let typed = wire(&Element::Batch(RowBatch::new(vec![1u64]).into()), MAX, false).unwrap_err();
    assert!(typed.to_string().starts_with("typed rows cannot cross processes yet: u64 has no codec"), "{typed}");
    let view = columns(vec![Arc::new(StringViewArray::from(vec!["a"]))]);
    let view = wire(&Element::Batch(ColumnBatch::inserts(view).into()), MAX, false).unwrap_err();
    assert_eq!((typed.kind(), view.kind()), (ErrorKind::FixConfig, ErrorKind::FixConfig));
    assert!(view.to_string().contains("column c0 of type Utf8View"), "{view}");
}

#[test]
fn what_comes_back_shares_its_memory_with_the_frame_and_says_so_once() {
    let batch = ColumnBatch::inserts(columns(vec![
        Arc::new(Int64Array::from_iter_values(0..1000)),
        Arc::new(StringArray::from(vec!["abc"; 1000])),
    ]));
    let Element::Batch(back) = there_and_back(&Element::Batch(batch.into()), false) else { panic!("rows expected") };
    assert!((8000..16_000).contains(&back.retained_bytes()), "{}", back.retained_bytes());
}

#[test]
fn cut_or_oversized_frames_are_errors() {
    let bytes = wire(&Element::Batch(ColumnBatch::inserts(every_type()).into()), MAX, false).unwrap();
    assert!((1..bytes.len()).filter(|end| decode_frames(&bytes[..*end], MAX).is_ok()).count() <= 1, "only between two frames");
    let mut long = wire(&Element::End, MAX, false).unwrap();
    long[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(decode_frames(&long, MAX).unwrap_err().to_string().contains("max_frame_bytes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever is changed in valid frames, the answer is an error or elements, never a panic.
    #[test]
    fn changed_frames_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        compress in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let kinds = UInt8Array::from(vec![1, 2, 0, 3, 0, 0]);
        let batch = ColumnBatch::changes(every_type(), kinds).unwrap();
        let mut bytes = wire(&Element::Batch(batch.into()), MAX, compress).unwrap();
        bytes.extend(wire(&Element::Barrier(Barrier::aligned(3)), MAX, false).unwrap());
        for (at, byte, small) in changes {
            let at = at.index(bytes.len());
            bytes[at] = if small { bytes[at].wrapping_add(byte % 3).wrapping_sub(1) } else { byte };
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let mut seen = 0;
        for element in decode_frames(&bytes, MAX).unwrap_or_default() {
            // What was let through can be used.
            seen += show(&element).len();
            if let Element::Batch(Batch::Columns(batch)) = element {
                let wire = wire(&Element::Batch(batch.into()), 4 * MAX, false);
                prop_assert!(wire.is_ok());
            }
        }
        prop_assert!(seen < usize::MAX);
    }

    #[test]
    fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let frames = decode_frames(&bytes, MAX);
        prop_assert!(frames.is_err() || bytes.is_empty() || !bytes.is_empty());
    }
}
