//! The secret that everybody in a cluster knows, sent with each call as `authorization: Bearer ...`.

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Adds the token to what a client sends, or checks it at the server.
#[derive(Clone)]
pub enum Token {
    /// There is none.
    None,
    /// A client's.
    Send(MetadataValue<Ascii>),
    /// What a server wants to see.
    Expect(String),
}

impl Token {
    /// The client's side; `None` if the token has characters that no header carries.
    pub fn send(token: Option<&str>) -> Option<Token> {
        match token {
            None => Some(Token::None),
            Some(token) => format!("Bearer {token}").parse().ok().map(Token::Send),
        }
    }

    /// The server's side.
    pub fn expect(token: Option<String>) -> Token {
        token.map_or(Token::None, Token::Expect)
    }
}

/// Whether a header says the right token. How long it takes does not depend on where they differ.
pub fn is_right(header: Option<&str>, token: &str) -> bool {
    let Some(given) = header.and_then(|header| header.strip_prefix("Bearer ")) else { return false };
    let (given, token) = (given.as_bytes(), token.as_bytes());
    let differing = given.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differing == 0
}

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        match self {
            Token::None => {}
            Token::Send(header) => drop(request.metadata_mut().insert("authorization", header.clone())),
            Token::Expect(token) => {
                let header = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
                if !is_right(header, token) {
                    return Err(Status::unauthenticated("this cluster wants a token, and the one given is not it"));
                }
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_is_let_in() {
        let mut door = Token::expect(Some("secret".into()));
        let mut ask = |client: Option<&str>| {
            let request = Token::send(client).unwrap().call(Request::new(())).unwrap();
            door.call(request).is_ok()
        };
        assert!(ask(Some("secret")));
        assert!(!ask(None) && !ask(Some("secre")) && !ask(Some("secret!")) && !ask(Some("")));
    }
}
