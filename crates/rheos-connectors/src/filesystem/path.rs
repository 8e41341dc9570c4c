//! Finds the files that a table's path means.

use std::path::{Path, PathBuf};

use regex::Regex;
use rheos_core::connector::TableSpec;
use rheos_core::{Error, Result};

use super::glob;

/// Folders within folders are followed down to here; links that lead in circles end there too.
const MAX_DEPTH: usize = 64;

/// A table's path on this machine.
pub(super) fn local_path(table: &TableSpec) -> Result<&str> {
    let path = table.required("path")?;
    let local = match path.split_once("://") {
        None => path.strip_prefix("file:").unwrap_or(path),
        Some(("file", rest)) => rest,
        Some((scheme, _)) => {
            let message =
                format!("table '{}' has the path '{path}'; only local files can be read and written yet, not {scheme}:", table.name);
            return Err(Error::config(message));
        }
    };
    if local.is_empty() {
        return Err(Error::config(format!("table '{}' has the path '{path}', which names no file", table.name)));
    }
    Ok(local)
}

/// Checks that there is something to read, or to watch.
pub(super) fn check(table: &TableSpec, is_watched: bool) -> Result<()> {
    let path = local_path(table)?;
    filter(table)?;
    if is_watched && Path::new(path).is_file() {
        let message = format!("table '{}' has 'source.monitor-interval', but '{path}' is a file", table.name);
        return Err(Error::config(format!("{message}: a folder or a pattern can be watched")));
    }
    if Path::new(path).exists() || (is_watched && glob::is_pattern(path)) {
        return Ok(());
    }
    if glob::is_pattern(path) {
        let files = list(table)?;
        if files.is_empty() {
            return Err(Error::config(format!("table '{}' reads '{path}', but no file matches", table.name)));
        }
        return Ok(());
    }
    Err(missing(table, path))
}

/// Says which part of a path is missing.
fn missing(table: &TableSpec, path: &str) -> Error {
    let path = Path::new(path);
    let present = path.ancestors().skip(1).find(|a| a.as_os_str().is_empty() || a.exists());
    let place = match present {
        Some(p) if p.as_os_str().is_empty() => "the current folder".to_string(),
        Some(p) => format!("'{}'", p.display()),
        None => "the file system".to_string(),
    };
    let rest = present.and_then(|p| path.strip_prefix(p).ok()).unwrap_or(path);
    let first = rest.components().next().map_or_else(String::new, |c| c.as_os_str().to_string_lossy().into_owned());
    Error::config(format!("table '{}' reads '{}', which does not exist: {place} has no '{first}'", table.name, path.display()))
}

fn filter(table: &TableSpec) -> Result<Option<Regex>> {
    let key = "source.path.regex-pattern";
    let Some(pattern) = table.option(key) else { return Ok(None) };
    let whole = Regex::new(&format!("^(?:{pattern})$"));
    whole.map(Some).map_err(|e| Error::config(format!("option '{key}' of table '{}' is '{pattern}': {e}", table.name)).caused_by(e))
}

/// All files that the table's path means, sorted.
pub(super) fn list(table: &TableSpec) -> Result<Vec<PathBuf>> {
    let text = local_path(table)?;
    let path = Path::new(text);
    let mut files = Vec::new();
    if path.is_dir() {
        add_folder(path, 0, &mut files)?;
    } else if path.exists() {
        files.push(path.to_path_buf());
    } else if glob::is_pattern(text) {
        let parts: Vec<&str> = text.split('/').filter(|p| !p.is_empty()).collect();
        let root = if text.starts_with('/') { "/" } else { "." };
        add_matches(Path::new(root), &parts, 0, &mut files)?;
    } else {
        return Err(missing(table, text));
    }
    if let Some(filter) = filter(table)? {
        files.retain(|f| filter.is_match(&f.to_string_lossy()));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Files whose names begin so are not data, by old convention: markers, and files that are still being written.
fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

fn add_folder(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    for (name, path) in entries(folder)? {
        if !is_hidden(&name) {
            add_entry(&path, depth, files)?;
        }
    }
    Ok(())
}

fn add_entry(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.push(path.to_path_buf());
    } else if path.is_dir() {
        if depth >= MAX_DEPTH {
            return Err(Error::config(format!("'{}' lies more than {MAX_DEPTH} folders deep", path.display())));
        }
        add_folder(path, depth + 1, files)?;
    }
    Ok(())
}

fn add_matches(folder: &Path, parts: &[&str], depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let Some((part, rest)) = parts.split_first() else { return add_entry(folder, depth, files) };
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    if *part == "**" {
        add_matches(folder, rest, depth + 1, files)?;
        for (name, path) in if folder.is_dir() { entries(folder)? } else { Vec::new() } {
            if !is_hidden(&name) && path.is_dir() {
                add_matches(&path, parts, depth + 1, files)?;
            }
        }
        return Ok(());
    }
    if !glob::is_pattern(part) {
        let next = if folder == Path::new(".") { PathBuf::from(part) } else { folder.join(part) };
        return if next.exists() { add_matches(&next, rest, depth + 1, files) } else { Ok(()) };
    }
    for (name, path) in if folder.is_dir() { entries(folder)? } else { Vec::new() } {
        let hidden = is_hidden(&name) && !part.starts_with(['.', '_']);
        if !hidden && glob::matches(part, &name) && (rest.is_empty() || path.is_dir()) {
            add_matches(&path, rest, depth + 1, files)?;
        }
    }
    Ok(())
}

/// The names and paths in a folder.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |e: std::io::Error| Error::config(format!("cannot list the folder '{}': {e}", folder.display())).caused_by(e);
    let mut entries = Vec::new();
    let found = match std::fs::read_dir(folder) {
        // Removed since it was seen, by whoever keeps a folder that is watched tidy.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(entries),
        found => found.map_err(failed)?,
    };
    for entry in found {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else {
            return Err(Error::config(format!("'{}' has a file whose name is not UTF-8: {}", folder.display(), name.display())));
        };
        let path = if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) };
        entries.push((name.to_string(), path));
    }
    Ok(entries)
}
