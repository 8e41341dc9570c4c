//! The file of a catalog: loaded at the start, replaced as a whole with every change.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rheos::{Session, SqlError, relation_of};

use super::Change;
use super::entries::Entries;
use crate::failure::Failure;
use crate::prepare::{at_statement, prepare};
use crate::script::Script;
use crate::settings::Settings;

/// A catalog file. It is read anew for every change, so that several shells can keep their tables in it.
pub(crate) struct CatalogFile {
    path: PathBuf,
    /// The session as it was before the file was loaded into it: as the next one will be.
    base: Session,
}

impl CatalogFile {
    /// Loads the file at a path into a session. Where there is none, it will be there with the first statement.
    pub(crate) fn open(path: &Path, session: &mut Session, settings: &Settings) -> Result<CatalogFile, Failure> {
        let file = CatalogFile { path: path.to_path_buf(), base: session.clone() };
        let script = Script::plain(file.label(), file.read()?);
        let entries = Entries::parse(script.text()).map_err(|e| script.wrong(&e))?;
        let loaded = load(&entries, &script, session, settings);
        loaded.notes.iter().for_each(|note| eprintln!("note: {}: {note}", file.label()));
        match loaded.failures.into_iter().next() {
            Some((_, failure)) => {
                Err(failure.noting(&format!("nothing in '{}' is changed; mend the statement there, or take it out", file.label())))
            }
            None => Ok(file),
        }
    }

    /// Its path, for people.
    pub(crate) fn label(&self) -> String {
        self.path.display().to_string()
    }

    /// Keeps a change. Where that fails, the file is as it was.
    pub(crate) fn keep(&self, change: &Change, settings: &Settings) -> Result<Kept, Failure> {
        let unkept =
            |why: String| Failure::wrong(format!("'{}' does not keep this statement, it holds in this session only: {why}", self.label()));
        // Two shells do not write at once. Where a folder cannot be locked, they rarely do.
        let folder = File::open(self.folder());
        let _lock = folder.as_ref().map(File::lock);
        let before = self.read()?;
        let parse = |text: &str| Entries::parse(text).map_err(|e| unkept(format!("what stands there has become wrong: {e}")));
        let after = parse(&before)?.with(change).map_err(unkept)?;
        if after == before {
            return Ok(Kept::Whole);
        }
        let script = Script::plain(self.label(), after);
        let mut failures = load(&parse(script.text())?, &script, &mut self.base.clone(), settings).failures;
        if let Change::Create { name, .. } = change
            && let Some(at) = failures.iter().position(|(of, _)| of.as_deref() == Some(name))
        {
            return Ok(Kept::Not(failures.swap_remove(at).1));
        }
        self.replace(script.text()).map_err(|e| unkept(format!("it cannot be written: {e}")))?;
        Ok(failures.into_iter().next().map_or(Kept::Whole, |(_, failure)| Kept::WithGap(failure)))
    }

    fn read(&self) -> Result<String, Failure> {
        match fs::read(&self.path) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| Failure::wrong(format!("'{}' is not a text in UTF-8", self.label()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(e) => Err(Failure::wrong(format!("'{}' cannot be read: {e}", self.label()))),
        }
    }

    fn folder(&self) -> PathBuf {
        match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        }
    }

    /// Writes a file beside it, and gives that its name: whoever reads sees the old text or the new one, also after a power cut.
    fn replace(&self, text: &str) -> io::Result<()> {
        // Where the path is a link, what it points at is replaced.
        let path =
            fs::canonicalize(&self.path).or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(self.path.clone()) } else { Err(e) })?;
        let name = path.file_name().map_or_else(Default::default, |n| n.to_string_lossy().into_owned());
        let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let written = (|| {
            let mut file = File::create(&temporary)?;
            if let Ok(old) = fs::metadata(&path) {
                file.set_permissions(old.permissions())?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        })();
        if written.is_err() {
            // It may not even be there.
            drop(fs::remove_file(&temporary));
        }
        written?;
        // Not every file system can sync a folder; the file itself is safe.
        drop(File::open(path.parent().unwrap_or(Path::new("/"))).and_then(|folder| folder.sync_all()));
        Ok(())
    }
}

/// What has become of a change.
#[derive(Debug)]
pub(crate) enum Kept {
    /// The file has it, and loads.
    Whole,
    /// The file has it, but does not load as it is now: a view has lost its table.
    WithGap(Failure),
    /// The file does not have it, since it would not load from there: what it reads is temporary, for example.
    Not(Failure),
}

/// What came of loading a file.
struct Loaded {
    notes: Vec<String>,
    /// The statements that do not load, by the names that they give, and why.
    failures: Vec<(Option<String>, Failure)>,
}

/// Carries the statements of a file out. A view may stand before what it reads.
fn load(entries: &Entries, script: &Script, session: &mut Session, settings: &Settings) -> Loaded {
    let mut notes = Vec::new();
    let mut waiting: Vec<&rheos::Parsed> = entries.statements().collect();
    loop {
        let (count, mut failures) = (waiting.len(), Vec::new());
        waiting.retain(|parsed| {
            let wrong = |e: SqlError| script.wrong(&at_statement(e, parsed));
            match prepare(session, parsed, settings, &wrong) {
                Ok(rheos::Prepared::Done(more)) => notes.extend(more),
                Ok(_) => {}
                Err(failure) => {
                    failures.push((relation_of(&parsed.statement), failure));
                    return true;
                }
            }
            false
        });
        if waiting.len() == count || waiting.is_empty() {
            return Loaded { notes, failures };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(failure: Failure) -> String {
        match failure {
            Failure::Wrong(text) => text,
            other => panic!("{other:?}"),
        }
    }

    fn open(path: &Path) -> (CatalogFile, Session) {
        let mut session = Session::new();
        let file = CatalogFile::open(path, &mut session, &Settings::default()).unwrap();
        (file, session)
    }

    fn keep(file: &CatalogFile, session: &mut Session, sql: &str) {
        for parsed in session.parse(sql).unwrap() {
            let change = Change::of(&parsed, |name| session.has_relation(name), &Settings::default()).expect("a change");
            session.prepare(&parsed.statement).unwrap();
            file.keep(&change, &Settings::default()).unwrap();
        }
    }

    #[test]
    fn a_session_finds_what_another_has_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables.sql");
        let (file, mut first) = open(&path);
        keep(
            &file,
            &mut first,
            "CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); CREATE VIEW v AS SELECT a FROM t; SET 'pipeline.name' = 'x'",
        );
        // The view stands before its table now.
        keep(&file, &mut first, "DROP TABLE t; CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen')");
        let (_, second) = open(&path);
        assert_eq!(second.relations(), first.relations());
        assert_eq!(second.set_values().collect::<Vec<_>>(), [("pipeline.name", "x")]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
    }

    #[test]
    fn a_statement_that_no_longer_loads_is_named_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables.sql");
        let text = "CREATE VIEW good AS SELECT 1 AS a;\n\nCREATE VIEW bad AS SELECT a FROM gone;\n";
        fs::write(&path, text).unwrap();
        let Err(failure) = CatalogFile::open(&path, &mut Session::new(), &Settings::default()) else { panic!("it is wrong") };
        let told = text_of(failure);
        assert!(told.contains("'gone'") && told.contains(&format!("{}:3:34", path.display())), "{told}");
        assert!(told.contains("mend the statement"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn two_shells_keep_both_their_tables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables.sql");
        let ((one, mut first), (two, mut second)) = (open(&path), open(&path));
        keep(&one, &mut first, "CREATE VIEW one AS SELECT 1 AS a");
        keep(&two, &mut second, "CREATE VIEW two AS SELECT 1 AS a");
        let (_, session) = open(&path);
        assert!(session.has_relation("one") && session.has_relation("two"));
    }

    #[test]
    fn a_view_without_its_table_is_foreseen() {
        let folder = tempfile::tempdir().unwrap();
        let (file, mut session) = open(&folder.path().join("tables.sql"));
        keep(&file, &mut session, "CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); CREATE VIEW v AS SELECT a FROM t");
        let Kept::WithGap(failure) = file.keep(&Change::Drop { name: "t".into() }, &Settings::default()).unwrap() else {
            panic!("the view reads it")
        };
        let told = text_of(failure);
        assert!(told.contains("no table or view 't'"), "{told}");
    }

    #[test]
    fn what_would_not_load_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables.sql");
        let (file, _) = open(&path);
        let text = "CREATE VIEW v AS SELECT a FROM tmp";
        let change = Change::Create { name: "v".into(), text: text.into() };
        assert!(matches!(file.keep(&change, &Settings::default()), Ok(Kept::Not(_))));
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_became_wrong_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables.sql");
        let (file, _) = open(&path);
        fs::write(&path, "CREATE VIEW").unwrap();
        let told = text_of(file.keep(&Change::Drop { name: "v".into() }, &Settings::default()).unwrap_err());
        assert!(told.contains("holds in this session only"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "CREATE VIEW");
    }

    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("tables.sql"), folder.path().join("link.sql"));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&path, &link).unwrap();
        let (file, mut session) = open(&link);
        keep(&file, &mut session, "CREATE VIEW one AS SELECT 1 AS a");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&path).unwrap().contains("CREATE VIEW one"));
    }
}
