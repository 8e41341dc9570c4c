//! Digests of texts as hexadecimal digits.

use md5::Md5;
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use arrow::datatypes::Int64Type;

use rheos_core::error::{Error, Result};
use rheos_core::types::TypeKind;

use crate::function::{Call, Function, Value};

use super::kernel::{numbers, texts, write_texts};
use super::signature::Param::{Kind, Text};
use super::signature::signature;

macro_rules! digest {
    ($name:literal, $length:literal, $digest:ty) => {
        Function::new($name, concat!($name, "(text)"), |a| signature(a, &[Text], &[], TypeKind::Char($length)), digest::<$digest>)
    };
}

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    digest!("MD5", 32, Md5),
    digest!("SHA1", 40, Sha1),
    digest!("SHA224", 56, Sha224),
    digest!("SHA256", 64, Sha256),
    digest!("SHA384", 96, Sha384),
    digest!("SHA512", 128, Sha512),
    Function::new("SHA2", "SHA2(text, bits)", |a| signature(a, &[Text, Kind(TypeKind::BigInt)], &[], TypeKind::Varchar(128)), sha2),
];

fn write_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|d| char::from(DIGITS[usize::from(d)])));
}

fn digest<D: Digest>(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        write_hex(out, &D::digest(text.get(row)?));
        Some(())
    })
}

fn sha2(call: &Call<'_>) -> Result<Value> {
    let (text, bits) = (texts(call, 0)?, numbers::<Int64Type>(call, 1)?);
    let mut unknown = None;
    let value = write_texts(call, |row, out| {
        let (text, bits) = (text.get(row)?, bits.get(row)?);
        match bits {
            224 => write_hex(out, &Sha224::digest(text)),
            256 => write_hex(out, &Sha256::digest(text)),
            384 => write_hex(out, &Sha384::digest(text)),
            512 => write_hex(out, &Sha512::digest(text)),
            other => unknown = Some(other),
        }
        Some(())
    })?;
    match unknown {
        Some(bits) => Err(Error::input(format!("SHA2: the length must be 224, 256, 384 or 512 bits, got {bits}"))),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn digests_are_those_of_the_standards() {
        check(&[
            ("MD5('apple')", "1f3870be274f6c49b3e31a0c6728957f", "CHAR(32) NOT NULL"),
            ("SHA1('')", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "CHAR(40) NOT NULL"),
            ("SHA224('')", "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f", "CHAR(56) NOT NULL"),
            ("SHA256('apple')", "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b", "CHAR(64) NOT NULL"),
            ("SHA2('apple', 224)", "b7bbfdf1a1012999b3c466fdeb906a629caa5e3e022428d1eb702281", "VARCHAR(128) NOT NULL"),
            ("LEFT(SHA384('apple'), 16)", "3d8786fcb588c933", "VARCHAR(96)"),
            ("LEFT(SHA512('apple'), 16)", "844d8779103b94c1", "VARCHAR(128)"),
            ("MD5(CAST(NULL, 'STRING'))", "\\N", "CHAR(32)"),
            ("SHA2('apple', 1)", "!224, 256, 384 or 512", ""),
        ]);
    }
}
