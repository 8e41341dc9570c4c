//! How whole files are compressed: told by the end of their names.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use rheos_core::connector::TableSpec;
use rheos_core::{Error, Result};

/// How much is read of a compressed file at once.
const BUFFER_BYTES: usize = 1 << 20;
/// Frames that ask a reader to remember more than this are refused: as much as the format's own program takes unless told otherwise.
const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// A way to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// What a file's name says.
    pub(super) fn of_name(path: &str) -> Compression {
        match path.rsplit_once('.').map(|(_, end)| end) {
            Some("gz") => Compression::Gzip,
            Some("zst" | "zstd") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// What a table's option says.
    pub(super) fn of_option(table: &TableSpec, key: &str) -> Result<Compression> {
        match table.option(key) {
            None | Some("none") => Ok(Compression::None),
            Some("gzip") => Ok(Compression::Gzip),
            Some("zstd") => Ok(Compression::Zstd),
            Some(other) => {
                let message = format!("option '{key}' of table '{}' is '{other}'; it can be 'none', 'gzip' or 'zstd'", table.name);
                Err(Error::config(message))
            }
        }
    }

    /// How names end.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        }
    }

    /// The unpacked bytes of a file, of all its members or frames; none where it is not compressed.
    pub(super) fn unpacked(self, file: File) -> io::Result<Unpacking> {
        let packed = |file| BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(match self {
            Compression::None => Unpacking::Plain(file),
            Compression::Gzip => Unpacking::Packed(Box::new(MultiGzDecoder::new(packed(file)))),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(packed(file))?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                Unpacking::Packed(Box::new(decoder))
            }
        })
    }
}

/// A file to read.
pub(super) enum Unpacking {
    /// As it is.
    Plain(File),
    /// Its unpacked bytes.
    Packed(Box<dyn Read + Send>),
}

/// A file to write, compressed on the way.
pub(super) enum Packing {
    Plain(File),
    Gzip(Box<GzEncoder<File>>),
    Zstd(Box<zstd::Encoder<'static, File>>),
}

impl Packing {
    pub(super) fn new(file: File, compression: Compression) -> io::Result<Packing> {
        Ok(match compression {
            Compression::None => Packing::Plain(file),
            Compression::Gzip => Packing::Gzip(Box::new(GzEncoder::new(file, flate2::Compression::default()))),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                // As gzip does: a changed byte is noticed.
                encoder.include_checksum(true)?;
                Packing::Zstd(Box::new(encoder))
            }
        })
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Packing::Plain(file) => file.write_all(bytes),
            Packing::Gzip(file) => file.write_all(bytes),
            Packing::Zstd(file) => file.write_all(bytes),
        }
    }

    /// Completes the file.
    pub(super) fn finish(self) -> io::Result<File> {
        match self {
            Packing::Plain(file) => Ok(file),
            Packing::Gzip(file) => file.finish(),
            Packing::Zstd(file) => file.finish(),
        }
    }
}
