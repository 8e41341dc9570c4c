//! Rows of every kind of column come back as they were.

use arrow::array::{Decimal128Array, Float32Array, Int32Array, Int64Array, MapBuilder, StringBuilder, StructArray, new_null_array};
use arrow::array::{Int64Builder, ListArray, TimestampMicrosecondArray};
use arrow::datatypes::{Field, Fields, Int32Type};

use super::*;

fn columns() -> Vec<ArrayRef> {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for i in 0..5i64 {
        (0..i).for_each(|j| {
            maps.keys().append_value(format!("key {j}"));
            maps.values().append_option((j != 1).then_some(i));
        });
        maps.append(i != 3).unwrap();
    }
    let part: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4), None]));
    let fields = Fields::from(vec![Field::new("part", DataType::Int32, true)]);
    let valid = NullBuffer::from(vec![true, true, false, true, true]);
    let decimals = Decimal128Array::from(vec![Some(1 << 100), None, Some(-5), Some(0), Some(7)]).with_precision_and_scale(38, 3).unwrap();
    vec![
        Arc::new(Int64Array::from(vec![Some(1), None, Some(-3), Some(4), Some(i64::MIN)])),
        Arc::new(StringArray::from(vec![Some("a"), Some(""), None, Some(&"long ".repeat(60)), Some("e")])),
        Arc::new(BinaryArray::from(vec![Some(&b"a"[..]), None, Some(&[0xFF, 0]), Some(b""), None])),
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None, Some(true)])),
        Arc::new(Float32Array::from(vec![Some(-0.0), None, Some(f32::INFINITY), Some(1.5), Some(2.5)])),
        Arc::new(decimals),
        Arc::new(TimestampMicrosecondArray::from(vec![Some(1), Some(2), None, Some(4), Some(5)]).with_timezone("UTC")),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![None]),
            None,
        ])),
        Arc::new(StructArray::new(fields, vec![part], Some(valid))),
        Arc::new(maps.finish()),
        new_null_array(&DataType::Null, 5),
    ]
}

#[test]
fn rows_of_every_kind_come_back_also_from_a_slice_and_in_another_order() {
    let columns: Vec<ArrayRef> = columns().iter().map(|c| c.slice(1, 4)).collect();
    let types: Vec<DataType> = columns.iter().map(|c| c.data_type().clone()).collect();
    let codec = RowCodec::new(&types).unwrap();
    let mut encoded = EncodedRows::default();
    codec.encode(&columns.iter().collect::<Vec<_>>(), 4, &mut encoded).unwrap();
    let order = [2usize, 0, 3, 1, 2];
    let decoded = codec.decode(&order.map(|i| encoded.row(i))).unwrap();
    let taken = arrow::array::UInt32Array::from(order.map(|i| i as u32).to_vec());
    for (column, decoded) in columns.iter().zip(&decoded) {
        assert_eq!(&arrow::compute::take(column, &taken, None).unwrap(), decoded);
    }
    assert_eq!(codec.decode(&[]).unwrap().iter().map(|c| c.data_type().clone()).collect::<Vec<_>>(), types);
}

#[test]
fn equal_rows_have_equal_bytes() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(7), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), Some("x"), Some("x"), None]));
    let codec = RowCodec::new(&[DataType::Int64, DataType::Utf8]).unwrap();
    let mut encoded = EncodedRows::default();
    codec.encode(&[&numbers, &texts], 4, &mut encoded).unwrap();
    assert_eq!(encoded.row(0), encoded.row(2));
    assert_ne!(encoded.row(1), encoded.row(3));
}
