//! Options against environment, and what is wrong with options.

use super::*;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn config(options: &[(&str, &str)], environment: &[(&str, &str)], key: AmazonS3ConfigKey) -> Option<String> {
    let environment = map(environment);
    let settings = Settings::read("b", &map(options), &environment).unwrap();
    settings.builder("b", &environment).unwrap().get_config_value(&key)
}

#[test]
fn keys_of_the_options_come_without_the_token_of_the_environment() {
    use AmazonS3ConfigKey as K;
    let environment = [("AWS_ACCESS_KEY_ID", "e"), ("AWS_SECRET_ACCESS_KEY", "e"), ("AWS_SESSION_TOKEN", "e"), ("AWS_REGION", "eu-west-1")];
    let options = [("s3.access-key", "o"), ("s3.secret-key", "o")];
    assert_eq!(config(&[], &environment, K::AccessKeyId).unwrap(), "e");
    assert_eq!(config(&[], &environment, K::Token).unwrap(), "e");
    assert_eq!(config(&options, &environment, K::AccessKeyId).unwrap(), "o");
    assert_eq!(config(&options, &environment, K::Token), None);
    assert_eq!(config(&options, &environment, K::Region).unwrap(), "eu-west-1");
    assert_eq!(config(&[("s3.region", "x")], &environment, K::Region).unwrap(), "x");
}

#[test]
fn an_endpoint_is_a_host_or_a_url() {
    let endpoint = |options: &[(&str, &str)], environment: &[(&str, &str)]| config(options, environment, AmazonS3ConfigKey::Endpoint);
    assert_eq!(endpoint(&[], &[]), None);
    assert_eq!(endpoint(&[("s3.endpoint", "h:9000/")], &[]).unwrap(), "https://h:9000");
    assert_eq!(endpoint(&[("s3.endpoint", "http://h")], &[("AWS_ENDPOINT_URL_S3", "http://e")]).unwrap(), "http://h");
    assert_eq!(endpoint(&[], &[("AWS_ENDPOINT_URL", "http://e"), ("AWS_ENDPOINT_URL_S3", "http://s")]).unwrap(), "http://s");
    assert_eq!(endpoint(&[("s3.endpoint", "http://h"), ("s3.path.style.access", "false")], &[]).unwrap(), "http://b.h");
}

#[test]
fn a_wrong_option_is_named_with_what_would_be_right() {
    for (options, part) in [
        (vec![("s3.acces-key", "x")], "'s3.acces-key' is unknown; those of S3 are s3.endpoint, s3.access-key"),
        (vec![("s3.access-key", "x")], "without 's3.secret-key'"),
        (vec![("s3.secret-key", "x")], "without 's3.access-key'"),
        (vec![("s3.endpoint", "ftp://h")], "'ftp://h'; it must be a host or a URL"),
        (vec![("s3.path.style.access", "yes")], "is 'yes'; it must be true or false"),
    ] {
        let error = connect_with("b", "", &map(&options), &BTreeMap::new()).err().unwrap();
        assert_eq!(error.kind(), rheos_core::ErrorKind::FixConfig);
        assert!(error.to_string().contains(part), "{error}");
    }
    Settings::read("b", &map(&[("state.backend", "memory")]), &BTreeMap::new()).unwrap();
}

#[test]
fn secrets_are_not_described() {
    let options = map(&[("s3.endpoint", "http://h"), ("s3.access-key", "secret1"), ("s3.secret-key", "secret2")]);
    assert_eq!(connect_with("b", "x/y", &options, &BTreeMap::new()).unwrap().description, "s3://b/x/y at http://h");
    assert_eq!(connect_with("b", "", &BTreeMap::new(), &BTreeMap::new()).unwrap().description, "s3://b");
}
