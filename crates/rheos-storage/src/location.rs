//! What a user may write where a storage is wanted, taken apart.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use rheos_core::{Error, Result};

/// Where a storage is.
#[derive(Debug, PartialEq)]
pub(crate) enum Location {
    /// On a file system.
    Folder(PathBuf),
    /// In a bucket, below a prefix (which may be empty, and has no slash at its ends).
    Bucket {
        /// The bucket's name.
        bucket: String,
        /// What all keys begin with.
        prefix: String,
    },
}

impl Location {
    /// Reads `/a/path`, `file:///a/path` or `s3://bucket/prefix`. Flink's `s3a` and `s3p` mean S3 too.
    pub(crate) fn parse(text: &str) -> Result<Location> {
        if text.is_empty() {
            return Err(Error::config("the storage is '', which is no place: write a folder, file:///a/folder or s3://bucket/prefix"));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text.strip_prefix("file:") {
                Some(path) => folder(text, path),
                None => Ok(Location::Folder(PathBuf::from(text))),
            };
        };
        match scheme {
            "file" => folder(text, rest.strip_prefix("localhost").unwrap_or(rest)),
            "s3" | "s3a" | "s3p" => bucket(text, rest),
            _ => Err(Error::config(format!(
                "storage '{text}': '{scheme}' is no storage that rheos knows: write a folder, file:///a/folder or s3://bucket/prefix"
            ))),
        }
    }
}

fn folder(text: &str, path: &str) -> Result<Location> {
    let decoded = percent_decode_str(path).decode_utf8();
    let path = decoded.map_err(|e| Error::config(format!("storage '{text}': the path is not UTF-8 after decoding")).caused_by(e))?;
    if !path.starts_with('/') {
        return Err(Error::config(format!("storage '{text}': after file:// comes an absolute path, as in file:///a/folder")));
    }
    Ok(Location::Folder(PathBuf::from(path.into_owned())))
}

fn bucket(text: &str, rest: &str) -> Result<Location> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains('@') {
        // Not quoted: it is a secret.
        return Err(Error::config("a storage URL with credentials: give them as s3.access-key and s3.secret-key instead"));
    }
    let is_bucket = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if bucket.is_empty() || !bucket.bytes().all(is_bucket) {
        return Err(Error::config(format!("storage '{text}': '{bucket}' is no bucket; write s3://bucket/prefix")));
    }
    let prefix = prefix.trim_matches('/');
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(|b| is_bucket(b) || b == b'=');
    if !prefix.is_empty() && !prefix.split('/').all(is_part) {
        return Err(Error::config(format!(
            "storage '{text}': the prefix '{prefix}' must be of letters, digits, -, _, . and =, joined by single slashes"
        )));
    }
    Ok(Location::Bucket { bucket: bucket.to_string(), prefix: prefix.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket_of(text: &str) -> (String, String) {
        match Location::parse(text).unwrap() {
            Location::Bucket { bucket, prefix } => (bucket, prefix),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn paths_and_file_urls_are_folders() {
        for (text, path) in [("/a/b", "/a/b"), ("a b", "a b"), ("file:///a%20b", "/a b"), ("file:/a", "/a"), ("file://localhost/a", "/a")] {
            assert_eq!(Location::parse(text).unwrap(), Location::Folder(PathBuf::from(path)), "{text}");
        }
    }

    #[test]
    fn s3_urls_are_buckets_with_a_prefix() {
        for (text, bucket, prefix) in [("s3://b", "b", ""), ("s3://b/", "b", ""), ("s3a://b/x/y/", "b", "x/y"), ("s3p://b.c/x", "b.c", "x")]
        {
            assert_eq!(bucket_of(text), (bucket.to_string(), prefix.to_string()), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_said_to_be_none() {
        for (text, part) in [
            ("", "no place"),
            ("hdfs://a/b", "'hdfs' is no storage"),
            ("file://a/b", "absolute path"),
            ("file:///%FF", "not UTF-8"),
            ("s3://", "no bucket"),
            ("s3://b/x//y", "prefix 'x//y'"),
            ("s3://b/../y", "prefix '../y'"),
        ] {
            let error = Location::parse(text).unwrap_err();
            assert_eq!(error.kind(), rheos_core::ErrorKind::FixConfig);
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn a_secret_in_a_url_is_not_repeated() {
        let error = Location::parse("s3://key:secret@bucket/x").unwrap_err().to_string();
        assert!(error.contains("s3.secret-key") && !error.contains(":secret@"), "{error}");
    }
}
