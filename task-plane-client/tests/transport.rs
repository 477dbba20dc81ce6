//! The client against servers that misbehave, on this machine.

// Tests assert: a panic there is the report. These are the tests' own functions, which clippy.toml does not exempt.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::{Duration, SystemTime};

use task_plane_client::{
    Activation, CallError, Checkpoint, Endpoint, Part, Retry, SourceEvidence, TaskPlane, Token,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const RETRY: Retry = Retry {
    attempts: 3,
    first_delay: Duration::from_millis(1),
    longest_delay: Duration::from_millis(2),
};

const ACCEPTED: &str =
    r#"{"activationId": "1", "taskId": "t-1", "contextId": "c-1", "disposition": "created"}"#;

/// A server that gives these answers, one a connection, and the requests that it got. An empty answer cuts the connection.
async fn server(answers: Vec<String>) -> (TaskPlane, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let token = Token::new("secret-0123".to_owned()).unwrap();
    let plane = TaskPlane::new(Endpoint::parse(&url).unwrap(), token, "chat")
        .unwrap()
        .with_retry(RETRY);
    let requests = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(request(&mut stream).await);
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
        requests
    });
    (plane, requests)
}

/// Reads one request to the end of its body.
async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut read = String::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        read.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        let Some((head, body)) = read.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        if body.len() >= length {
            return read;
        }
    }
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn event() -> Activation {
    Activation::new("e-1", SystemTime::now(), vec![Part::text("hello")]).locator("event", "e-1")
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn an_event_whose_answer_was_lost_is_handed_over_again_word_for_word() {
    let (plane, requests) = server(vec![
        String::new(),
        answer("503 Service Unavailable", "{}"),
        answer("200 OK", ACCEPTED),
    ])
    .await;
    assert_eq!(plane.accept(&event()).await.unwrap().task_id, "t-1");
    let requests = requests.await.unwrap();
    assert!(requests[0].starts_with("POST /trusted/v1/activations "));
    assert!(
        requests[0]
            .to_ascii_lowercase()
            .contains("authorization: bearer secret-0123")
    );
    assert_eq!(body(&requests[0]), body(&requests[1]));
    assert_eq!(body(&requests[0]), body(&requests[2]));
}

#[tokio::test]
async fn what_may_have_been_counted_or_kept_is_not_said_again() {
    let (plane, requests) = server(vec![String::new()]).await;
    let evidence = SourceEvidence {
        evidence_id: "noise".to_owned(),
        kind: "NOISE".to_owned(),
        detail: Default::default(),
    };
    let error = plane.count(&evidence).await.unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error}");
    assert_eq!(requests.await.unwrap().len(), 1);

    let (plane, requests) = server(vec![answer("504 Gateway Timeout", "{}")]).await;
    let checkpoint = Checkpoint {
        checkpoint: 1.into(),
        covers: Vec::new(),
        version: Some(0),
    };
    let error = plane.advance(&checkpoint).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(requests.await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_that_the_token_goes_nowhere_else() {
    let stranger = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        stranger.local_addr().unwrap()
    );
    let (plane, _) = server(vec![redirect]).await;
    let error = plane.accept(&event()).await.unwrap_err();
    let CallError::Refused(refusal) = &error else {
        panic!("{error}");
    };
    assert_eq!(refusal.http_status, 307);
    let visit = tokio::time::timeout(Duration::ZERO, stranger.accept()).await;
    assert!(visit.is_err(), "nobody comes there");
}

#[tokio::test]
async fn an_answer_of_another_program_is_told_apart_from_the_planes() {
    let (plane, _) = server(vec![answer("200 OK", "<html>hello</html>"); 3]).await;
    let error = plane.accept(&event()).await.unwrap_err();
    assert!(matches!(error, CallError::Unreadable(_)), "{error}");

    let (plane, _) = server(vec![answer("404 Not Found", "<html>no such page</html>")]).await;
    let error = plane.accept(&event()).await.unwrap_err();
    assert!(
        error.to_string().contains("is this the task plane's URL?"),
        "{error}"
    );
}
