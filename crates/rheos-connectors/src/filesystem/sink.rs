//! Writes rows to part files, hidden until they are committed.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rheos_core::connector::{TableSpec, parse_memory_bytes};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Committer, Sink, SinkDescription, SinkFactory};
use rheos_core::time::TimestampMs;
use rheos_core::{Batch, Error, Result};

use super::committer::{PendingFile, Renamer, sync_folder};
use super::{glob, path};
use crate::format::{Encoder, Format};

/// How much text is gathered before it is written.
const WRITE_BYTES: usize = 64 << 10;
/// How the names of files end that are not published.
const HIDDEN_SUFFIX: &str = ".inprogress";
/// What a part file may grow to.
const DEFAULT_FILE_BYTES: u64 = 128 << 20;

/// The sink.
#[derive(Debug)]
pub(super) struct PartFiles;

impl SinkFactory for PartFiles {
    fn describe(&self, table: &TableSpec) -> Result<SinkDescription> {
        let format = Format::of(table)?;
        Settings::of(table, &format)?;
        Ok(SinkDescription { accepts: format.changelog() })
    }

    fn writer(&self, table: &TableSpec, context: &OperatorContext) -> Result<Box<dyn Sink>> {
        let format = Format::of(table)?;
        let settings = Settings::of(table, &format)?;
        fs::create_dir_all(&settings.folder).map_err(|e| {
            Error::config(format!("table '{}' cannot make the folder '{}': {e}", table.name, settings.folder.display())).caused_by(e)
        })?;
        let of_sink = prefix_of_sink(&context.subtask.uid, &context.subtask.job);
        // A commit that comes late must never meet a file of another attempt: numbers alone would come again once files are taken away.
        let attempt = match context.subtask.job.as_str() {
            "" => String::new(),
            _ => format!("{:06x}-", context.env.random.next_u64() >> 40),
        };
        let prefix = format!("{of_sink}{}-{attempt}", context.subtask.index);
        let next = next_number(&settings.folder, &prefix)?;
        Ok(Box::new(PartWriter {
            sink: context.subtask.uid.clone(),
            encoder: format.encoder(&table.schema)?,
            settings,
            prefix,
            next,
            text: String::new(),
            open: None,
            closed: Vec::new(),
        }))
    }

    fn clean_up(&self, table: &TableSpec, uid: &str, job: &str, until_ms: TimestampMs) -> Result<()> {
        let settings = Settings::of(table, &Format::of(table)?)?;
        if !settings.folder.exists() {
            return Ok(());
        }
        remove_leftovers(&settings.folder, &prefix_of_sink(uid, job), until_ms)
    }

    fn committer(&self, _table: &TableSpec) -> Result<Option<Box<dyn Committer>>> {
        Ok(Some(Box::new(Renamer)))
    }
}

/// Where and how part files are written.
struct Settings {
    folder: PathBuf,
    /// How names end.
    suffix: String,
    gzip: bool,
    file_bytes: u64,
}

impl Settings {
    fn of(table: &TableSpec, format: &Format) -> Result<Self> {
        let text = path::local_path(table)?;
        // Tokens outlive this process, which may have another current folder next time.
        let folder = std::path::absolute(text).map_err(|e| Error::config(format!("table '{}' has the path '{text}': {e}", table.name)))?;
        if folder.is_file() || (glob::is_pattern(text) && !folder.exists()) {
            return Err(Error::config(format!("table '{}' cannot write to '{text}': that is no folder", table.name)));
        }
        let key = "rheos.sink.compression";
        let gzip = match table.option(key) {
            None | Some("none") => false,
            Some("gzip") => true,
            Some(other) => {
                return Err(Error::config(format!("option '{key}' of table '{}' is '{other}'; it can be 'none' or 'gzip'", table.name)));
            }
        };
        let key = "sink.rolling-policy.file-size";
        let file_bytes = match table.option(key) {
            None => DEFAULT_FILE_BYTES,
            Some(size) => parse_memory_bytes(size).map_err(|e| e.context(format!("option '{key}' of table '{}'", table.name)))?,
        };
        let suffix = format!(".{}{}", format.file_extension(), if gzip { ".gz" } else { "" });
        Ok(Settings { folder, suffix, gzip, file_bytes: file_bytes.max(1) })
    }
}

/// How the names of a sink's files begin. Those of a job that may be restored say whose they are.
fn prefix_of_sink(uid: &str, job: &str) -> String {
    let plain = |text: &str| -> String { text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect() };
    match job {
        "" => format!("part-{}-", plain(uid)),
        job => format!("part-{}-{}-", plain(job), plain(uid)),
    }
}

/// Whether a hidden file is of this sink: behind the prefix stand a writer's number, its attempt's and a file's, and nothing else.
fn is_hidden_of(name: &str, of_sink: &str) -> bool {
    let stem = name.strip_prefix('.').and_then(|name| name.strip_prefix(of_sink)).and_then(|rest| rest.split('.').next());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = stem.map(|stem| stem.split('-').collect()).unwrap_or_default();
    let is_ours = |parts: &[&str]| match parts {
        [writer, attempt, number] => {
            is_number(writer) && attempt.len() == 6 && attempt.bytes().all(|b| b.is_ascii_hexdigit()) && is_number(number)
        }
        _ => false,
    };
    name.ends_with(HIDDEN_SUFFIX) && is_ours(&parts)
}

/// Removes the hidden files that earlier processes of the same job left behind.
fn remove_leftovers(folder: &Path, of_sink: &str, until_ms: TimestampMs) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_hidden_of(&name, of_sink)
            && written_ms(&entry) <= until_ms
            && let Err(e) = fs::remove_file(entry.path())
            && e.kind() != ErrorKind::NotFound
        {
            return Err(Error::restart(format!("cannot remove the unfinished '{}': {e}", entry.path().display())).caused_by(e));
        }
    }
    Ok(())
}

/// When a file was last written, in milliseconds since the epoch. One of which that is not known was written long ago.
fn written_ms(entry: &fs::DirEntry) -> TimestampMs {
    let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(TimestampMs::MIN, |since| since.as_millis() as TimestampMs)
}

/// The first number that no file of this writer has, hidden ones included.
fn next_number(folder: &Path, prefix: &str) -> Result<u64> {
    let mut next = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if let Some(rest) = name.trim_start_matches('.').strip_prefix(prefix) {
            let digits = rest.split('.').next().unwrap_or_default();
            next = next.max(digits.parse::<u64>().map_or(0, |n| n.saturating_add(1)));
        }
    }
    Ok(next)
}

/// One subtask's writer.
struct PartWriter {
    sink: String,
    encoder: Encoder,
    settings: Settings,
    prefix: String,
    /// The number of the next file.
    next: u64,
    /// What has been encoded and not written.
    text: String,
    open: Option<Part>,
    /// Files that are whole, and durable, but not yet named in a token.
    closed: Vec<PendingFile>,
}

/// A file that is being written.
struct Part {
    names: PendingFile,
    out: Out,
    bytes: u64,
}

enum Out {
    Plain(File),
    Gzip(Box<GzEncoder<File>>),
}

impl Part {
    /// Makes a file under a hidden name that nobody has.
    fn create(settings: &Settings, prefix: &str, next: &mut u64) -> Result<Part> {
        loop {
            let name = format!("{prefix}{}{}", *next, settings.suffix);
            *next += 1;
            let names =
                PendingFile { temporary: settings.folder.join(format!(".{name}{HIDDEN_SUFFIX}")), name: settings.folder.join(&name) };
            if names.name.exists() {
                continue;
            }
            let file = match OpenOptions::new().write(true).create_new(true).open(&names.temporary) {
                Ok(file) => file,
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(failed(&names.temporary, e)),
            };
            let out = if settings.gzip { Out::Gzip(Box::new(GzEncoder::new(file, Compression::default()))) } else { Out::Plain(file) };
            return Ok(Part { names, out, bytes: 0 });
        }
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let written = match &mut self.out {
            Out::Plain(file) => file.write_all(text.as_bytes()),
            Out::Gzip(file) => file.write_all(text.as_bytes()),
        };
        self.bytes += text.len() as u64;
        written.map_err(|e| failed(&self.names.temporary, e))
    }

    /// Completes the file and makes it durable. Its names are among `closed` first: after a failure it is to be removed.
    fn close(self, closed: &mut Vec<PendingFile>) -> Result<()> {
        let temporary = self.names.temporary.clone();
        closed.push(self.names);
        let synced = match self.out {
            Out::Plain(file) => file.sync_all(),
            Out::Gzip(file) => file.finish().and_then(|file| file.sync_all()),
        };
        synced.map_err(|e| failed(&temporary, e))
    }
}

fn failed(path: &Path, e: std::io::Error) -> Error {
    Error::restart(format!("cannot write '{}': {e}", path.display())).caused_by(e)
}

/// Writes the text to the open file, or to a new one; a file that has reached its size is closed.
fn write_out(
    text: &mut String,
    open: &mut Option<Part>,
    closed: &mut Vec<PendingFile>,
    settings: &Settings,
    prefix: &str,
    next: &mut u64,
) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let part = match open {
        Some(part) => part,
        None => open.insert(Part::create(settings, prefix, next)?),
    };
    part.write(text)?;
    text.clear();
    if part.bytes >= settings.file_bytes
        && let Some(part) = open.take()
    {
        part.close(closed)?;
    }
    Ok(())
}

impl Sink for PartWriter {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = batch.into_columns()?;
        let PartWriter { encoder, settings, prefix, next, text, open, closed, .. } = self;
        let chunk = WRITE_BYTES.min(usize::try_from(settings.file_bytes).unwrap_or(WRITE_BYTES));
        encoder.encode_batch(
            &batch,
            text,
            |text| {
                if text.len() < chunk { Ok(()) } else { write_out(text, open, closed, settings, prefix, next) }
            },
        )
    }

    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        let PartWriter { settings, prefix, next, text, open, closed, .. } = self;
        write_out(text, open, closed, settings, prefix, next)?;
        if let Some(part) = open.take() {
            part.close(closed)?;
        }
        if closed.is_empty() {
            return Ok(Vec::new());
        }
        sync_folder(&settings.folder)?;
        let token = |file: PendingFile| Ok(CommitToken { sink: self.sink.clone(), epoch, payload: serde_json::to_value(file)? });
        std::mem::take(closed).into_iter().map(token).collect()
    }

    fn close(&mut self) {
        let unprepared = self.open.take().map(|p| p.names).into_iter().chain(self.closed.drain(..));
        for file in unprepared {
            if let Err(e) = fs::remove_file(&file.temporary) {
                tracing::warn!(file = %file.temporary.display(), error = %e, "cannot remove an unfinished part file");
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_completed_is_still_known_to_be_removed() {
        let names = PendingFile { temporary: "hidden".into(), name: "shown".into() };
        // A device without room refuses the last bytes.
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let part = Part { names, out: Out::Gzip(Box::new(GzEncoder::new(full, Compression::default()))), bytes: 0 };
        let mut closed = Vec::new();
        assert!(part.close(&mut closed).is_err());
        assert_eq!(closed[0].temporary, Path::new("hidden"));
    }
}
