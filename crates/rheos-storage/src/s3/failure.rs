//! Errors of S3 in the words of who must mend them.

use object_store::Error as StoreError;
use rheos_core::Error;

use super::Bucket;

/// Whether the store says that there is no such object (and not: no such bucket).
pub(super) fn is_absent(error: &StoreError) -> bool {
    matches!(error, StoreError::NotFound { .. }) && !Answer::of(error).says("NoSuchBucket")
}

impl Bucket {
    /// What `error` means for whoever wanted to `action` the object `name`.
    pub(super) fn failure(&self, action: &str, name: &str, error: StoreError) -> Error {
        let answer = Answer::of(&error);
        let object = if name.is_empty() { String::new() } else { format!(" '{name}'") };
        let head = format!("{}: cannot {action}{object}", self.description);
        let message = match answer.advice() {
            Some(advice) => format!("{head}: {} ({advice})", answer.text()),
            None => format!("{head}: {}", answer.text()),
        };
        let mapped = if answer.passes(&error) { Error::retry(message) } else { Error::config(message) };
        mapped.caused_by(error)
    }
}

/// What the store answered, as far as it can be read from an error: object_store does not export its parts.
struct Answer {
    whole: String,
    /// The HTTP status.
    status: Option<u16>,
    /// S3's own code and message.
    code: Option<String>,
    message: Option<String>,
}

impl Answer {
    fn of(error: &StoreError) -> Answer {
        let mut whole = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            let text = error.to_string();
            if !whole.contains(&text) {
                whole = format!("{whole}: {text}");
            }
            source = error.source();
        }
        let element = |name: &str| {
            let (_, rest) = whole.split_once(&format!("<{name}>"))?;
            Some(rest.split_once(&format!("</{name}>"))?.0.trim().to_string())
        };
        let status = whole.split_once("status code: ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
        let (code, message) = (element("Code"), element("Message"));
        Answer { status, code, message, whole }
    }

    fn says(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    fn text(&self) -> String {
        match (&self.code, &self.message) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            (Some(code), None) => code.clone(),
            _ => self.whole.clone(),
        }
    }

    /// Whether the same may succeed later without anybody mending anything.
    fn passes(&self, error: &StoreError) -> bool {
        use StoreError as E;
        let code = self.code.as_deref().unwrap_or_default();
        if matches!(code, "SlowDown" | "InternalError" | "RequestTimeout" | "OperationAborted" | "ConditionalRequestConflict") {
            return true;
        }
        match error {
            E::Generic { .. } | E::JoinError { .. } | E::AlreadyExists { .. } => {}
            _ => return false,
        }
        let is_wrong_request = self.status.is_some_and(|s| (300..500).contains(&s) && !matches!(s, 408 | 409 | 429));
        !is_wrong_request && !self.lacks_credentials() && !self.is_elsewhere() && !self.distrusts()
    }

    fn advice(&self) -> Option<&'static str> {
        if self.lacks_credentials() {
            return Some("there are no credentials: set s3.access-key and s3.secret-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
        }
        if self.is_elsewhere() {
            return Some("set s3.region to the bucket's region");
        }
        if self.distrusts() {
            return Some("the endpoint's certificate is not signed by an authority that this machine trusts");
        }
        (self.status == Some(403)).then_some("check the credentials and what they permit")
    }

    /// The addresses of the services from which a machine in the cloud would get its role.
    fn lacks_credentials(&self) -> bool {
        self.whole.contains("http://169.254.")
    }

    fn is_elsewhere(&self) -> bool {
        self.status == Some(301) || self.whole.contains("redirect without LOCATION") || self.says("AuthorizationHeaderMalformed")
    }

    fn distrusts(&self) -> bool {
        self.whole.contains("invalid peer certificate")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> StoreError {
        StoreError::Generic { store: "S3", source: text.into() }
    }

    #[test]
    fn what_may_pass_is_told_from_what_must_be_mended() {
        for (text, passes, advice) in [
            ("Server returned non-2xx status code: 503 Service Unavailable: ", true, ""),
            ("Server returned non-2xx status code: 429 Too Many Requests: ", true, ""),
            ("error sending request: connection refused", true, ""),
            ("Server returned error response: <Error><Code>SlowDown</Code></Error>", true, ""),
            ("Server returned non-2xx status code: 400 Bad Request: <Code>ExpiredToken</Code>", false, ""),
            ("Received redirect without LOCATION, this normally", false, "s3.region"),
            ("Error performing PUT http://169.254.169.254/latest/api/token in 1s", false, "s3.access-key"),
            ("error sending request: invalid peer certificate: UnknownIssuer", false, "certificate"),
        ] {
            let error = generic(text);
            let answer = Answer::of(&error);
            assert_eq!(answer.passes(&error), passes, "{text}");
            assert!(answer.advice().unwrap_or_default().contains(advice), "{text}");
        }
    }

    #[test]
    fn a_missing_bucket_is_not_a_missing_object() {
        let missing = |code: &str| StoreError::NotFound {
            path: "x".into(),
            source: format!("Server returned non-2xx status code: 404 Not Found: <Error><Code>{code}</Code><Message>m</Message></Error>")
                .into(),
        };
        assert!(is_absent(&missing("NoSuchKey")));
        assert!(!is_absent(&missing("NoSuchBucket")));
        let answer = Answer::of(&missing("NoSuchBucket"));
        assert_eq!(answer.text(), "NoSuchBucket: m");
        assert!(!answer.passes(&missing("NoSuchBucket")));
    }
}
