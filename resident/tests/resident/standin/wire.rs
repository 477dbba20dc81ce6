//! HTTP/1.1, as much of it as one client needs, and the faults.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::surface::{answer, refusal};
use super::{Fault, RESIDENT_TOKEN, Seen, Shared};

pub fn serve(connection: TcpStream, shared: &Shared) {
    let mut writer = connection.try_clone().unwrap();
    let mut reader = BufReader::new(connection);
    while let Some((path, token, body)) = read_request(&mut reader) {
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let mut state = shared.state.lock().unwrap();
        let authority = match &state.turn {
            _ if token == RESIDENT_TOKEN => "resident",
            Some(turn) if turn.token == token => "turn",
            _ => "nobody",
        };
        let fault = state
            .faults
            .iter()
            .position(|(ending, _)| path.ends_with(ending))
            .map(|index| state.faults.remove(index).1);
        let answer = match fault {
            Some(Fault::HangUp) => None,
            Some(Fault::Page(status)) => Some((status, "<html>a proxy</html>".to_owned())),
            Some(Fault::Refuse(status, reason)) => Some(refusal(status, reason, "refused", None)),
            None | Some(Fault::HangUpAfter) => {
                let (after, answer) = answer(shared, state, &path, authority, &body);
                state = after;
                Some(answer).filter(|_| fault.is_none())
            }
        };
        state.seen.push(Seen {
            path,
            authority,
            body,
            status: answer.as_ref().map(|(status, _)| *status),
        });
        drop(state);
        shared.changed.notify_all();
        let Some((status, body)) = answer else {
            return;
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if writer
            .write_all(head.as_bytes())
            .and_then(|()| writer.write_all(body.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|length| *length > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut token = String::new();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.strip_prefix("Bearer ").unwrap_or_default().to_owned(),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, token, body))
}
