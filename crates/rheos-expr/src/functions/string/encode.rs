//! Texts as codes, digits and bytes, and back.

use std::fmt::Write;

use arrow::array::{BinaryArray, BooleanArray, Int32Array, StringArray};
use arrow::datatypes::Int64Type;
use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD};

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, bytes, collect, numbers, texts, try_collect, write_texts};

use super::utf8;

/// Decodes with or without the padding, as Java does.
const BASE64_READER: GeneralPurpose =
    GeneralPurpose::new(&ALPHABET, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// The first byte, signed as Java's are; 0 for the empty text.
pub(super) fn ascii(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    collect::<Int32Array, _>(call, |row| Some(text.get(row)?.bytes().next().map_or(0, |b| i32::from(b as i8))))
}

/// The character of a code's last byte; nothing for a negative code.
pub(super) fn chr(call: &Call<'_>) -> Result<Value> {
    let code = numbers::<Int64Type>(call, 0)?;
    write_texts(call, |row, out| {
        let code = code.get(row)?;
        if code >= 0 {
            out.push(char::from((code & 0xFF) as u8));
        }
        Some(())
    })
}

pub(super) fn bin(call: &Call<'_>) -> Result<Value> {
    let number = numbers::<Int64Type>(call, 0)?;
    write_texts(call, |row, out| write!(out, "{:b}", number.get(row)?).ok())
}

pub(super) fn hex(call: &Call<'_>) -> Result<Value> {
    if call.arg_types.first().is_some_and(|ty| ty.kind.is_integer()) {
        let number = numbers::<Int64Type>(call, 0)?;
        return write_texts(call, |row, out| write!(out, "{:X}", number.get(row)?).ok());
    }
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        for b in text.get(row)?.bytes() {
            out.extend([char::from(DIGITS[usize::from(b >> 4)]), char::from(DIGITS[usize::from(b & 15)])]);
        }
        Some(())
    })
}

/// Of an odd number of digits the first is dropped and a zero byte put in its place, as Flink documents it; NULL for what are no
/// digits.
pub(super) fn unhex(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    collect::<BinaryArray, Vec<u8>>(call, |row| {
        let text = text.get(row)?;
        let digits = text.bytes().map(|b| char::from(b).to_digit(16).map(|d| d as u8)).collect::<Option<Vec<u8>>>()?;
        let (first, pairs) = digits.split_at(digits.len() % 2);
        Some(first.iter().map(|_| 0).chain(pairs.chunks(2).map(|p| p[0] * 16 + p[1])).collect())
    })
}

/// An argument that may be a text or bytes.
enum Bytes<'a> {
    Text(Rows<'a, StringArray>),
    Bytes(Rows<'a, BinaryArray>),
}

impl<'a> Bytes<'a> {
    fn of(call: &Call<'a>) -> Result<Bytes<'a>> {
        let binary = call.arg_types.first().is_some_and(|ty| ty.kind.is_binary());
        Ok(if binary { Bytes::Bytes(bytes(call, 0)?) } else { Bytes::Text(texts(call, 0)?) })
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Bytes::Text(text) => text.get(row).map(str::as_bytes),
            Bytes::Bytes(bytes) => bytes.get(row),
        }
    }
}

pub(super) fn to_base64(call: &Call<'_>) -> Result<Value> {
    let bytes = Bytes::of(call)?;
    write_texts(call, |row, out| {
        STANDARD.encode_string(bytes.get(row)?, out);
        Some(())
    })
}

pub(super) fn from_base64(call: &Call<'_>) -> Result<Value> {
    let bytes = Bytes::of(call)?;
    try_collect::<StringArray, String>(call, |row| {
        let Some(bytes) = bytes.get(row) else { return Ok(None) };
        let decoded = BASE64_READER
            .decode(bytes)
            .map_err(|e| Error::input(format!("FROM_BASE64: '{}' is not base64: {e}", String::from_utf8_lossy(bytes))).caused_by(e))?;
        Ok(Some(String::from_utf8_lossy(&decoded).into_owned()))
    })
}

#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
    Utf16 { big_endian: bool, mark: bool },
}

impl Charset {
    fn parse(name: &str) -> Result<Charset> {
        Ok(match name.to_ascii_uppercase().as_str() {
            "UTF-8" | "UTF8" => Charset::Utf8,
            "US-ASCII" | "ASCII" => Charset::Ascii,
            "ISO-8859-1" | "LATIN1" | "ISO8859_1" => Charset::Latin1,
            "UTF-16BE" => Charset::Utf16 { big_endian: true, mark: false },
            "UTF-16LE" => Charset::Utf16 { big_endian: false, mark: false },
            "UTF-16" | "UTF16" => Charset::Utf16 { big_endian: true, mark: true },
            _ => {
                let known = "UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE and UTF-16LE";
                return Err(Error::input(format!("'{name}' is no known charset; known are {known}")));
            }
        })
    }

    fn encode(self, text: &str) -> Vec<u8> {
        let single = |limit: u32| text.chars().map(|c| if u32::from(c) < limit { u32::from(c) as u8 } else { b'?' }).collect();
        match self {
            Charset::Utf8 => text.as_bytes().to_vec(),
            Charset::Ascii => single(128),
            Charset::Latin1 => single(256),
            Charset::Utf16 { big_endian, mark } => {
                let units = mark.then_some(0xFEFF).into_iter().chain(text.encode_utf16());
                units.flat_map(|u| if big_endian { u.to_be_bytes() } else { u.to_le_bytes() }).collect()
            }
        }
    }

    fn decode(self, bytes: &[u8]) -> String {
        match self {
            Charset::Utf8 => utf8::lossy(bytes),
            Charset::Ascii => bytes.iter().map(|b| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER }).collect(),
            Charset::Latin1 => bytes.iter().map(|b| char::from(*b)).collect(),
            Charset::Utf16 { big_endian, mark } => {
                let (bytes, big_endian) = match bytes {
                    [0xFE, 0xFF, rest @ ..] if mark => (rest, true),
                    [0xFF, 0xFE, rest @ ..] if mark => (rest, false),
                    _ => (bytes, big_endian),
                };
                let unit =
                    |pair: &[u8]| if big_endian { u16::from_be_bytes([pair[0], pair[1]]) } else { u16::from_le_bytes([pair[0], pair[1]]) };
                String::from_utf16_lossy(&bytes.chunks_exact(2).map(unit).collect::<Vec<_>>())
            }
        }
    }
}

pub(super) fn encode(call: &Call<'_>) -> Result<Value> {
    let (text, charset) = (texts(call, 0)?, texts(call, 1)?);
    try_collect::<BinaryArray, Vec<u8>>(call, |row| match (text.get(row), charset.get(row)) {
        (Some(text), Some(charset)) => Ok(Some(Charset::parse(charset)?.encode(text))),
        _ => Ok(None),
    })
}

pub(super) fn decode(call: &Call<'_>) -> Result<Value> {
    let (bytes, charset) = (bytes(call, 0)?, texts(call, 1)?);
    try_collect::<StringArray, String>(call, |row| match (bytes.get(row), charset.get(row)) {
        (Some(bytes), Some(charset)) => Ok(Some(Charset::parse(charset)?.decode(bytes))),
        _ => Ok(None),
    })
}

pub(super) fn is_valid_utf8(call: &Call<'_>) -> Result<Value> {
    let bytes = bytes(call, 0)?;
    collect::<BooleanArray, _>(call, |row| Some(std::str::from_utf8(bytes.get(row)?).is_ok()))
}

pub(super) fn make_valid_utf8(call: &Call<'_>) -> Result<Value> {
    let bytes = bytes(call, 0)?;
    collect::<StringArray, _>(call, |row| Some(utf8::lossy(bytes.get(row)?)))
}
