"""An independent agent, built with the official Python SDK's server. What it does is the first word it is told.

It prints its URL once it listens. `POST /release/<name>` lets what waits for that name go on.
"""

import asyncio
import socket

import uvicorn
from a2a.helpers.proto_helpers import new_task, new_text_message, new_text_part
from a2a.server.agent_execution.agent_executor import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks.inmemory_task_store import InMemoryTaskStore
from a2a.server.tasks.task_updater import TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role, TaskState
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


class Obedient(AgentExecutor):
    def __init__(self):
        self.waiting = {}

    async def execute(self, context, event_queue):
        word, _, rest = context.get_user_input().partition(" ")
        if context.current_task is None and word == "hello":
            await event_queue.enqueue_event(
                new_text_message("hello yourself", context_id=context.context_id, role=Role.ROLE_AGENT)
            )
            return
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is not None:
            await self.answer(updater, f"answered {word}")
            return
        await event_queue.enqueue_event(new_task(context.task_id, context.context_id, TaskState.TASK_STATE_SUBMITTED))
        await updater.start_work()
        if word == "do":
            await self.answer(updater, f"did {rest}")
        elif word == "two":
            await updater.add_artifact([new_text_part("the first")], artifact_id="one", name="one")
            await updater.add_artifact([new_text_part("the second")], artifact_id="two", name="two")
            await updater.complete()
        elif word == "wait":
            await self.waiting.setdefault(rest, asyncio.Event()).wait()
            await self.answer(updater, f"waited for {rest}")
        elif word == "ask":
            await updater.requires_input(updater.new_agent_message([new_text_part("Which colour?")]))

    async def answer(self, updater, text):
        await updater.add_artifact([new_text_part(text)], artifact_id="result", name="result")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    executor = Obedient()
    card = AgentCard(
        name="Python Agent",
        description="Does what it is told.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"{url}/a2a", protocol_binding="HTTP+JSON", protocol_version="1.0"),
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="obey", name="Obey", description="Does it", tags=["test"])],
    )
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)

    async def release(request):
        executor.waiting.setdefault(request.path_params["name"], asyncio.Event()).set()
        return PlainTextResponse("released")

    application = Starlette(
        routes=[
            *create_agent_card_routes(card),
            Route("/release/{name}", release, methods=["POST"]),
            *create_rest_routes(handler, path_prefix="/a2a"),
        ]
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets=sockets)
            print(url, flush=True)

    Server(uvicorn.Config(application, log_level="warning")).run(sockets=[listener])


main()
