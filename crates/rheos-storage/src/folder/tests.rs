//! What is particular to folders: temporary files, foreign files, and what stands in the way.

use std::path::Path;

use rheos_core::ErrorKind as Kind;

use super::*;

fn open(path: &Path) -> FolderStorage {
    FolderStorage::open(path, Runtime::current().unwrap()).unwrap()
}

async fn names(storage: &FolderStorage) -> Vec<String> {
    storage.list("").await.unwrap().into_iter().map(|s| s.name).collect()
}

#[tokio::test]
async fn nothing_is_created_before_the_first_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let storage = open(&path);
    assert_eq!(names(&storage).await, [""; 0]);
    assert_eq!(storage.get("x").await.unwrap(), None);
    assert!(!folder.path().join("a").exists());
    storage.put("x", "1".into()).await.unwrap();
    assert!(path.join("x").exists());
}

#[tokio::test]
async fn what_is_no_object_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path());
    storage.put("log/1", "1".into()).await.unwrap();
    for foreign in [".half.tmp", "log/.half.tmp", "a b", "lost+found"] {
        fs::write(folder.path().join(foreign), "x").unwrap();
    }
    fs::create_dir(folder.path().join(".hidden")).unwrap();
    fs::write(folder.path().join(".hidden/x"), "x").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "x").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("circle")).unwrap();
        std::os::unix::fs::symlink("/nowhere", folder.path().join("dangling")).unwrap();
    }
    assert_eq!(names(&storage).await, ["log/1"]);
}

#[tokio::test]
async fn a_write_leaves_no_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path());
    storage.put("x", "1".into()).await.unwrap();
    storage.put("x", "2".into()).await.unwrap();
    storage.put_if_absent("x", "3".into()).await.unwrap();
    storage.put_if_absent("y", "3".into()).await.unwrap();
    let mut files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["x", "y"]);
}

#[tokio::test]
async fn a_folder_that_was_removed_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path());
    storage.put("log/1", "1".into()).await.unwrap();
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    storage.put("log/2", "2".into()).await.unwrap();
    assert_eq!(names(&storage).await, ["log/2"]);
}

#[tokio::test]
async fn a_file_where_a_folder_should_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let runtime = Runtime::current().unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = FolderStorage::open(&path, runtime.clone()).err().unwrap();
        assert_eq!(error.kind(), Kind::FixConfig);
        assert!(error.to_string().contains("is a file"), "{error}");
    }
    let storage = open(folder.path());
    let expected = format!("'{}' is a file where a folder is needed", file.display());
    for error in [
        storage.put("file/x", "1".into()).await.unwrap_err(),
        storage.put_if_absent("file/a/x", "1".into()).await.unwrap_err(),
        storage.get("file/x").await.unwrap_err(),
        storage.list("file/").await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), Kind::FixConfig);
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn a_folder_where_an_object_should_be_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("x")).unwrap();
    let storage = open(folder.path());
    for error in [
        storage.put("x", "1".into()).await.unwrap_err(),
        storage.put_if_absent("x", "1".into()).await.unwrap_err(),
        storage.get("x").await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), Kind::FixConfig);
        assert!(error.to_string().contains("'x': there is a folder of this name"), "{error}");
    }
}

#[tokio::test]
async fn errors_say_who_must_do_what() {
    let root = open(Path::new("/r")).root;
    for (kind, expected, part) in [
        (ErrorKind::PermissionDenied, Kind::FixConfig, "permission denied"),
        (ErrorKind::ReadOnlyFilesystem, Kind::FixConfig, "read-only"),
        (ErrorKind::StorageFull, Kind::Retry, "the disk is full"),
        (ErrorKind::TimedOut, Kind::Retry, "timed out"),
    ] {
        let error = root.failure("write", "log/1", kind.into());
        assert_eq!(error.kind(), expected);
        assert!(error.to_string().starts_with("folder '/r': cannot write 'log/1': "), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_cannot_be_created_is_the_users_to_mend() {
    let error = open(Path::new("/proc/rheos")).put("x", "1".into()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::FixConfig, "{error}");
    assert!(error.to_string().starts_with("folder '/proc/rheos': cannot write 'x': "), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_without_write_permission_is_the_users_to_mend() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.path().join("probe"), "").is_ok() {
        return; // root may write everywhere
    }
    let error = open(folder.path()).put("x", "1".into()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::FixConfig);
    assert!(error.to_string().contains("permission denied"), "{error}");
}
