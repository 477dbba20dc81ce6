//! Listing tasks: order, filters, pages, totals, and what each reads.

use durable_objects::commands::principal::{ListReply, ListTasks, PrincipalCommand, View};
use serde_json::Value as Json;

use crate::support::ask::{complete, message, raw};
use crate::support::{World, decode};

/// A list of everything, as a client asks for it.
fn everything(page_size: u32) -> ListTasks {
    ListTasks {
        context_id: None,
        state: None,
        status_from_ms: None,
        page_size,
        page_token: None,
        filter_digest: [0; 32],
        view: View {
            without_artifacts: true,
            history_length: Some(0),
            ..View::default()
        },
    }
}

fn list(world: &mut World, principal: &str, command: ListTasks) -> Json {
    try_list(world, principal, command).unwrap()
}

fn try_list(world: &mut World, principal: &str, command: ListTasks) -> Result<Json, String> {
    let reply = world
        .command(principal, None, PrincipalCommand::ListTasks(command))
        .map_err(|failure| failure.reason().to_owned())?;
    let reply: ListReply = decode(&reply);
    Ok(serde_json::from_str(reply.page.get()).unwrap())
}

fn ids(page: &Json) -> Vec<String> {
    page["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_newest_status_comes_first_and_equal_times_are_ordered_by_id() {
    let mut world = World::of(&["ann"]);
    let first = world.submit("ann", "m1");
    let second = world.submit("ann", "m2");
    world.now_ms += 1;
    let third = world.submit("ann", "m3");
    let mut tied = [first, second];
    tied.sort();
    tied.reverse();
    let [second, first] = tied;
    let page = list(&mut world, "ann", everything(50));
    assert_eq!(ids(&page), [third, second, first]);
    assert_eq!(page["totalSize"], 3);
    assert_eq!(page["nextPageToken"], "");
    assert_eq!(page["pageSize"], 50);
}

#[test]
fn pages_neither_repeat_nor_leave_out_a_task_at_equal_times() {
    let mut world = World::of(&["ann"]);
    let mut submitted: Vec<_> = (0..7)
        .map(|n| world.submit("ann", &format!("m{n}")))
        .collect();
    let mut seen = Vec::new();
    let mut command = everything(3);
    loop {
        let page = list(&mut world, "ann", command);
        assert_eq!(page["totalSize"], 7);
        seen.extend(ids(&page));
        let token = page["nextPageToken"].as_str().unwrap();
        if token.is_empty() {
            break;
        }
        command = everything(3);
        command.page_token = Some(token.to_owned());
    }
    submitted.sort();
    seen.sort();
    assert_eq!(seen, submitted);
}

#[test]
fn a_task_updated_between_two_pages_hides_no_other_and_is_not_shown_twice() {
    let mut world = World::of(&["ann"]);
    let oldest = world.submit("ann", "m1");
    let mut newer = Vec::new();
    for n in 2..6 {
        world.now_ms += 1;
        newer.push(world.submit("ann", &format!("m{n}")));
    }
    let first = list(&mut world, "ann", everything(2));
    world.now_ms += 1;
    // The oldest, on neither page yet, and the newest, already shown, both change.
    world.try_cancel("ann", &oldest).unwrap();
    world.try_cancel("ann", &newer[3]).unwrap();
    let mut rest = everything(2);
    rest.page_token = Some(first["nextPageToken"].as_str().unwrap().to_owned());
    let second = list(&mut world, "ann", rest);
    assert_eq!(ids(&first), [newer[3].clone(), newer[2].clone()]);
    assert_eq!(ids(&second), [newer[1].clone(), newer[0].clone()]);
}

#[test]
fn a_list_is_filtered_by_state_context_and_time_inclusively() {
    let mut world = World::of(&["ann"]);
    let done = world.submit("ann", "m1");
    let turn = world.take();
    world.try_tool(&turn, complete("done")).unwrap();
    world.now_ms += 5;
    let open = world.submit("ann", "m2");

    let mut by_state = everything(50);
    by_state.state = Some(3);
    let page = list(&mut world, "ann", by_state);
    assert_eq!(
        (ids(&page), &page["totalSize"]),
        (vec![done.clone()], &Json::from(1))
    );

    let mut by_time = everything(50);
    by_time.status_from_ms = Some(world.now_ms);
    let page = list(&mut world, "ann", by_time);
    assert_eq!(
        (ids(&page), &page["totalSize"]),
        (vec![open.clone()], &Json::from(1))
    );

    let whole = list(&mut world, "ann", everything(50));
    let context = whole["tasks"][1]["contextId"].as_str().unwrap().to_owned();
    let mut by_context = everything(50);
    by_context.context_id = Some(context.clone());
    let page = list(&mut world, "ann", by_context);
    assert_eq!(
        (ids(&page), &page["totalSize"]),
        (vec![done], &Json::from(1))
    );

    let mut by_both = everything(50);
    by_both.context_id = Some(context);
    by_both.state = Some(1);
    let page = list(&mut world, "ann", by_both);
    assert_eq!((ids(&page), &page["totalSize"]), (vec![], &Json::from(0)));
}

#[test]
fn a_list_shows_no_task_of_another_principal() {
    let mut world = World::of(&["ann", "bob"]);
    world.submit("ann", "m1");
    let page = list(&mut world, "bob", everything(50));
    assert_eq!((ids(&page), &page["totalSize"]), (vec![], &Json::from(0)));
}

#[test]
fn artifacts_are_left_out_unless_they_are_asked_for() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    world.try_tool(&turn, complete("done")).unwrap();
    let without = list(&mut world, "ann", everything(50));
    assert_eq!(without["tasks"][0].get("artifacts"), None);
    assert_eq!(without["tasks"][0].get("history"), None);
    let mut command = everything(50);
    command.view.without_artifacts = false;
    command.view.history_length = None;
    let with = list(&mut world, "ann", command);
    assert_eq!(with["tasks"][0]["artifacts"][0]["parts"][0]["text"], "done");
    assert_eq!(with["tasks"][0]["history"].as_array().unwrap().len(), 1);
}

#[test]
fn a_page_token_is_worthless_altered_or_to_another_principal_or_list() {
    let mut world = World::of(&["ann", "bob"]);
    for n in 0..3 {
        world.submit("ann", &format!("m{n}"));
        world.submit("bob", &format!("m{n}"));
    }
    let page = list(&mut world, "ann", everything(1));
    let token = page["nextPageToken"].as_str().unwrap().to_owned();
    let with = |token: &str| {
        let mut command = everything(1);
        command.page_token = Some(token.to_owned());
        command
    };
    let mut other_list = with(&token);
    other_list.filter_digest = [1; 32];
    assert_eq!(
        try_list(&mut world, "bob", with(&token)),
        Err("INVALID_REQUEST".to_owned())
    );
    assert_eq!(
        try_list(&mut world, "ann", other_list),
        Err("INVALID_REQUEST".to_owned())
    );
    let (truncated, _) = token.split_at(token.len() - 1);
    assert_eq!(
        try_list(&mut world, "ann", with(truncated)),
        Err("INVALID_REQUEST".to_owned())
    );
    assert!(try_list(&mut world, "ann", with(&token)).is_ok());
}

#[test]
fn totals_follow_every_transition() {
    let mut world = World::of(&["ann"]);
    for n in 0..4 {
        world.submit("ann", &format!("m{n}"));
    }
    let turn = world.take();
    world.try_tool(&turn, complete("done")).unwrap();
    let canceled = world.submit("ann", "m9");
    world.try_cancel("ann", &canceled).unwrap();
    for (state, expected) in [(1, 3), (2, 0), (3, 1), (5, 1)] {
        let mut command = everything(50);
        command.state = Some(state);
        let page = list(&mut world, "ann", command);
        assert_eq!(page["totalSize"], expected, "state {state}");
        assert_eq!(ids(&page).len(), usize::try_from(expected).unwrap());
    }
}

#[test]
fn no_page_scans_or_sorts() {
    let world = World::of(&["ann"]);
    let store = &world.principals["ann"].store;
    for filter in [
        "true",
        "true AND state = ?2",
        "true AND context_id = ?2",
        "true AND context_id = ?2 AND +state = ?3",
        "true AND status_ms >= ?2",
    ] {
        for cursor in ["", " AND (status_ms, task_id) < (?4, ?5)"] {
            let plan = store
                .plan(&format!(
                    "SELECT task_id FROM tasks WHERE {filter}{cursor} \
                     ORDER BY status_ms DESC, task_id DESC LIMIT ?1"
                ))
                .unwrap()
                .join("; ");
            assert!(!plan.contains("TEMP B-TREE"), "{filter}{cursor}: {plan}");
            assert!(plan.contains("USING"), "{filter}{cursor}: {plan}");
        }
    }
}

#[test]
fn a_page_of_large_tasks_is_shorter_and_says_where_to_go_on() {
    let mut world = World::of(&["ann"]);
    for n in 0..12 {
        let mut large = message(&format!("m{n}"), "large");
        large.message = raw(&serde_json::json!({
            "messageId": format!("m{n}"), "role": "ROLE_USER",
            "parts": [{ "text": "x".repeat(1_000_000) }],
        }));
        world.try_send("ann", large).unwrap();
    }
    let mut seen = 0;
    let mut command = everything(100);
    command.view.history_length = None;
    loop {
        let page = list(&mut world, "ann", command);
        let length = ids(&page).len();
        assert!(page.to_string().len() < 9 * 1024 * 1024);
        assert!((1..=8).contains(&length));
        seen += length;
        let token = page["nextPageToken"].as_str().unwrap();
        if token.is_empty() {
            break;
        }
        command = everything(100);
        command.view.history_length = None;
        command.page_token = Some(token.to_owned());
    }
    assert_eq!(seen, 12);
}
