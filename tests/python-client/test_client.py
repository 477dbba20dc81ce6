"""The official Python client against a running deployment, as one of its users would write it.

`A2A_URL`, `A2A_ALICE_TOKEN` and `A2A_BOB_TOKEN` name the deployment and two of its principals. Its resident answers a
message with the same words, asks "Which colour?" when a message begins with "ask", and rejects what begins with
"reject".
"""

import os
import unittest
import uuid

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.client import ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils import errors

URL = os.environ["A2A_URL"]
ALICE = os.environ["A2A_ALICE_TOKEN"]
BOB = os.environ["A2A_BOB_TOKEN"]
ELICITATION = "https://github.com/ai-outfitter/channels/a2a-extensions/elicitation/v1"
TIMEOUT_S = 30


class OneToken(CredentialService):
    """Gives the token for the scheme that the card calls `bearer`, and for no other."""

    def __init__(self, token):
        self.token = token

    async def get_credentials(self, security_scheme_name, context):
        return self.token if security_scheme_name == "bearer" else None


def message(text, **fields):
    return Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **fields)


def sending(content, **configuration):
    if isinstance(content, str):
        content = message(content)
    return SendMessageRequest(message=content, configuration=SendMessageConfiguration(**configuration))


def text_of(parts):
    return "".join(part.text for part in parts)


def parameters(**values):
    """A call's service parameters, over those that the client sends by itself."""
    return ClientCallContext(service_parameters={name.replace("_", "-"): value for name, value in values.items()})


class ClientTest(unittest.IsolatedAsyncioTestCase):
    async def client(self, token=ALICE, streaming=False):
        """A client that found the agent by its card."""
        http = httpx.AsyncClient(timeout=TIMEOUT_S, headers={"A2A-Version": "1.0"})
        self.addAsyncCleanup(http.aclose)
        factory = ClientFactory(
            ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=["HTTP+JSON"])
        )
        return await factory.create_from_url(URL, [AuthInterceptor(OneToken(token))])

    async def subscribe(self, task_id, token=ALICE):
        """A subscription's events. The client subscribes only where it is configured to stream."""
        streaming = await self.client(token, streaming=True)
        return streaming.subscribe(SubscribeToTaskRequest(id=task_id))

    async def send(self, client, request, context=None):
        """The one thing that a send without a stream answers: a task."""
        answers = [answer async for answer in client.send_message(request, context=context)]
        self.assertEqual([answer.WhichOneof("payload") for answer in answers], ["task"])
        return answers[0].task

    async def submit(self, client, content):
        return await self.send(client, sending(content, return_immediately=True))

    async def settled(self, client, text):
        return await self.send(client, sending(text))

    def assert_state(self, task, state):
        self.assertEqual(TaskState.Name(task.status.state), state)


class RoundTest(ClientTest):
    async def test_discovery_finds_one_http_json_interface_of_version_1_0(self):
        card = (await self.client())._card
        self.assertEqual(
            [(i.protocol_binding, i.protocol_version, i.tenant) for i in card.supported_interfaces],
            [("HTTP+JSON", "1.0", "")],
        )
        self.assertTrue(card.capabilities.streaming)
        self.assertFalse(card.capabilities.push_notifications)
        self.assertEqual(card.security_schemes["bearer"].http_auth_security_scheme.scheme, "Bearer")

    async def test_a_blocking_send_gives_the_completed_task(self):
        task = await self.settled(await self.client(), "hello")
        self.assert_state(task, "TASK_STATE_COMPLETED")
        self.assertEqual([text_of(artifact.parts) for artifact in task.artifacts], ["hello"])
        self.assertEqual(text_of(task.history[0].parts), "hello")

    async def test_a_send_that_returns_immediately_gives_the_task_in_progress(self):
        task = await self.submit(await self.client(), "hello")
        self.assertIn(TaskState.Name(task.status.state), ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"])

    async def test_a_stream_begins_with_the_task_and_ends_with_its_completion(self):
        client = await self.client(streaming=True)
        events = [event async for event in client.send_message(sending("hello"))]
        kinds = [event.WhichOneof("payload") for event in events]
        self.assertEqual(kinds, ["task", "status_update", "artifact_update", "status_update"])
        self.assertEqual(text_of(events[2].artifact_update.artifact.parts), "hello")
        self.assert_state(events[3].status_update, "TASK_STATE_COMPLETED")
        self.assertEqual({event.task_id for event in (e.status_update for e in events[1::2])}, {events[0].task.id})

    async def test_a_read_gives_what_the_send_gave(self):
        client = await self.client()
        task = await self.settled(client, "hello")
        self.assertEqual(await client.get_task(GetTaskRequest(id=task.id)), task)
        without = await client.get_task(GetTaskRequest(id=task.id, history_length=0))
        self.assertEqual(len(without.history), 0)

    async def test_a_list_is_paged_and_newest_first(self):
        client = await self.client()
        first = await self.settled(client, "one")
        sent = [first.id]
        for text in ["two", "three"]:
            sent.append((await self.settled(client, message(text, context_id=first.context_id))).id)
        listed, token = [], ""
        for _ in sent:
            request = ListTasksRequest(context_id=first.context_id, page_size=2, page_token=token)
            page = await client.list_tasks(request)
            self.assertEqual(page.total_size, 3)
            listed += [task.id for task in page.tasks]
            self.assertFalse(any(task.artifacts for task in page.tasks))
            token = page.next_page_token
            if not token:
                break
        self.assertEqual(listed, sent[::-1])
        request = ListTasksRequest(context_id=first.context_id, include_artifacts=True, status="TASK_STATE_COMPLETED")
        whole = await client.list_tasks(request)
        self.assertTrue(all(task.artifacts for task in whole.tasks))

    async def test_a_question_is_answered_under_a_subscription(self):
        client = await self.client()
        asked = await self.settled(client, "ask me")
        self.assert_state(asked, "TASK_STATE_INPUT_REQUIRED")
        self.assertEqual(text_of(asked.status.message.parts), "Which colour?")

        subscription = await self.subscribe(asked.id)
        first = await anext(subscription)
        self.assert_state(first.task, "TASK_STATE_INPUT_REQUIRED")
        await self.submit(client, message("Green.", task_id=asked.id, context_id=asked.context_id))
        states = [
            TaskState.Name(event.status_update.status.state)
            async for event in subscription
            if event.WhichOneof("payload") == "status_update"
        ]
        self.assertEqual(states[-2:], ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"])

    async def test_a_typed_question_comes_with_the_extension(self):
        client = await self.client()
        context = ClientCallContext(
            service_parameters=ServiceParametersFactory.create([with_a2a_extensions([ELICITATION])])
        )
        plain = await self.settled(client, "ask me")
        self.assertEqual(len(plain.status.message.parts), 1)
        typed = await self.send(client, sending("ask me"), context)
        self.assertEqual(len(typed.status.message.parts), 2)
        self.assertEqual(list(typed.status.message.extensions), [ELICITATION])
        data = typed.status.message.parts[1].data.struct_value
        self.assertEqual(data["message"], "Which colour?")

    async def test_a_rejection_is_a_final_state_with_its_reason(self):
        task = await self.settled(await self.client(), "reject me")
        self.assert_state(task, "TASK_STATE_REJECTED")
        self.assertEqual(text_of(task.status.message.parts), "No.")

    async def test_a_task_is_canceled(self):
        client = await self.client()
        asked = await self.settled(client, "ask me")
        canceled = await client.cancel_task(CancelTaskRequest(id=asked.id))
        self.assert_state(canceled, "TASK_STATE_CANCELED")
        self.assertEqual(canceled.id, asked.id)

    async def test_a_repeated_message_gives_the_task_it_made(self):
        client = await self.client()
        content = message("once")
        first = await self.submit(client, content)
        self.assertEqual((await self.settled(client, content)).id, first.id)


class ErrorTest(ClientTest):
    async def test_an_unknown_or_foreign_task_is_not_found_by_every_operation(self):
        alice, bob = await self.client(), await self.client(BOB)
        foreign = (await self.settled(alice, "ask me")).id
        for task_id in [foreign, str(uuid.uuid4())]:
            with self.assertRaises(errors.TaskNotFoundError):
                await bob.get_task(GetTaskRequest(id=task_id))
            with self.assertRaises(errors.TaskNotFoundError):
                await bob.cancel_task(CancelTaskRequest(id=task_id))
            with self.assertRaises(errors.TaskNotFoundError):
                await anext(await self.subscribe(task_id, BOB))
            with self.assertRaises(errors.TaskNotFoundError):
                await self.settled(bob, message("mine", task_id=task_id))

    async def test_a_canceled_task_is_not_cancelable(self):
        client = await self.client()
        asked = await self.settled(client, "ask me")
        await client.cancel_task(CancelTaskRequest(id=asked.id))
        with self.assertRaises(errors.TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=asked.id))

    async def test_a_completed_task_takes_neither_a_message_nor_a_subscription(self):
        client, streaming = await self.client(), await self.client(streaming=True)
        task = await self.settled(client, "hello")
        with self.assertRaises(errors.UnsupportedOperationError):
            await self.settled(client, message("more", task_id=task.id))
        with self.assertRaises(errors.UnsupportedOperationError):
            await anext(streaming.send_message(sending(message("more", task_id=task.id))))
        with self.assertRaises(errors.UnsupportedOperationError):
            await anext(await self.subscribe(task.id))

    async def test_another_version_is_not_supported(self):
        client = await self.client()
        for version in ["0.3", "2.0"]:
            with self.assertRaises(errors.VersionNotSupportedError):
                await client.list_tasks(ListTasksRequest(), context=parameters(A2A_Version=version))

    async def test_another_media_type_is_not_supported(self):
        client = await self.client()
        with self.assertRaises(errors.ContentTypeNotSupportedError):
            await self.send(client, sending("hello"), parameters(Content_Type="text/plain"))

    async def test_push_notifications_are_not_supported_by_any_of_their_operations(self):
        client = await self.client()
        task_id = (await self.settled(client, "hello")).id
        for operation, request in [
            (
                client.create_task_push_notification_config,
                TaskPushNotificationConfig(task_id=task_id, url="https://example.com/hook"),
            ),
            (
                client.get_task_push_notification_config,
                GetTaskPushNotificationConfigRequest(task_id=task_id, id="one"),
            ),
            (
                client.list_task_push_notification_configs,
                ListTaskPushNotificationConfigsRequest(task_id=task_id),
            ),
            (
                client.delete_task_push_notification_config,
                DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="one"),
            ),
        ]:
            with self.assertRaises(errors.PushNotificationNotSupportedError):
                await operation(request)

    async def test_an_invalid_request_says_so(self):
        client = await self.client()
        with self.assertRaises(errors.InvalidRequestError):
            await self.settled(client, Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER))
        with self.assertRaises(errors.InvalidRequestError):
            await client.list_tasks(ListTasksRequest(page_token="forged"))

    async def test_a_wrong_or_missing_token_is_refused_with_401(self):
        for token in ["not-a-token-of-this-agent", None]:
            client = await self.client(token)
            with self.assertRaisesRegex(A2AClientError, "401"):
                await client.list_tasks(ListTasksRequest())
            with self.assertRaisesRegex(A2AClientError, "401"):
                await anext(await self.subscribe(str(uuid.uuid4()), token))

    async def test_a_repeated_message_id_with_another_content_is_refused_with_409(self):
        client = await self.client()
        content = message("one")
        await self.submit(client, content)
        content.parts[0].text = "two"
        with self.assertRaisesRegex(A2AClientError, "409"):
            await self.submit(client, content)


if __name__ == "__main__":
    unittest.main(verbosity=2)
