//! Every source file opens with a sentence that says what it is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folders with sources.
const FOLDERS: [&str; 4] = ["crates", "sim", "xtask", "tests"];

/// Looks at the first line of every `.rs` file.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    for folder in FOLDERS.map(|f| root.join(f)).iter().filter(|f| f.exists()) {
        collect(folder, &mut files)?;
    }
    files.sort();
    let mut without = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        if !opens_with_a_sentence(&text) {
            without.push(file.strip_prefix(root).unwrap_or(&file).display().to_string());
        }
    }
    if !without.is_empty() {
        bail!("no //! sentence at the top of:\n  {}", without.join("\n  "));
    }
    Ok(())
}

fn opens_with_a_sentence(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.strip_prefix("//! ").is_some_and(|sentence| !sentence.trim().is_empty()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opens_with_a_sentence_or_not() {
        assert!(opens_with_a_sentence("//! What it is.\nuse std::fs;\n"));
        assert!(!opens_with_a_sentence("// What it is.\n"));
        assert!(!opens_with_a_sentence("//! \n//! Late.\n"));
        assert!(!opens_with_a_sentence(""));
    }
}
