//! Values of a program's types as bytes, and back.

use serde::Serialize;
use serde::de::DeserializeOwned;

use rheos_core::{Error, Result};

/// Which encoding it is, as snapshots name it: postcard 1.x.
pub(super) const ENCODING: u8 = 1;

/// Writes `value` into `out`, which is cleared first.
pub(super) fn encode<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<()> {
    let mut bytes = std::mem::take(out);
    bytes.clear();
    let written = postcard::to_extend(value, bytes);
    *out = written.map_err(|e| Error::config(format!("a {} cannot be stored: {e}", std::any::type_name::<T>())).caused_by(e))?;
    Ok(())
}

/// What [`encode`] wrote; all of `bytes` must be it.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let name = std::any::type_name::<T>;
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(Error::config(format!("what is stored is no {}: {} bytes are left over", name(), rest.len()))),
        Err(e) => Err(Error::config(format!("what is stored is no {}: {e}", name())).caused_by(e)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// These bytes are in snapshots: a change of them loses state.
    #[test]
    fn the_encoding_is_pinned() {
        let mut out = vec![9; 3];
        encode(&("a".to_string(), 300u64, -1i32, Some(true), vec![1.5f64], BTreeMap::from([(2u8, ())])), &mut out).unwrap();
        assert_eq!(out, [1, b'a', 0xAC, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F, 1, 2]);
    }

    #[test]
    fn bytes_of_another_type_are_an_error_that_names_the_type() {
        let mut out = Vec::new();
        encode(&"rheos", &mut out).unwrap();
        assert_eq!(decode::<String>(&out).unwrap(), "rheos");
        assert_eq!(decode::<u8>(&out).unwrap_err().to_string(), "what is stored is no u8: 5 bytes are left over");
        assert!(decode::<Vec<String>>(&out).unwrap_err().to_string().starts_with("what is stored is no alloc::vec::Vec<"));
    }
}
