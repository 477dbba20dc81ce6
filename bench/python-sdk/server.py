"""The official Python SDK's server, as its documentation sets it up: Starlette on uvicorn, tasks in SQLite.

Takes the database's path and prints its port. What the text of a message begins with is done: "complete" at once, "wait"
until it is canceled. Other work is accepted.
"""

import asyncio
import logging
import socket
import sys

import uvicorn
from a2a.helpers.proto_helpers import new_task
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_rest_routes
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Part,
    TaskState,
)
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


class Bench(AgentExecutor):
    """Settles what it is told to, and lets the rest wait."""

    def __init__(self):
        self.waiting = {}

    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await event_queue.enqueue_event(
            new_task(
                context.task_id,
                context.context_id,
                TaskState.TASK_STATE_SUBMITTED,
                history=[context.message],
            )
        )
        if context.get_user_input().startswith("complete"):
            await updater.start_work()
            await updater.add_artifact([Part(text="done")], artifact_id="response")
            await updater.complete()
            return
        if context.get_user_input().startswith("wait"):
            self.waiting[context.task_id] = canceled = asyncio.Event()
            await canceled.wait()

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()
        canceled = self.waiting.pop(context.task_id, None)
        if canceled:
            canceled.set()


async def main():
    logging.disable(logging.CRITICAL)
    card = AgentCard(
        name="bench",
        description="A server to measure",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        supported_interfaces=[
            AgentInterface(
                url="http://127.0.0.1",
                protocol_binding="HTTP+JSON",
                protocol_version="1.0",
            )
        ],
    )
    engine = create_async_engine(f"sqlite+aiosqlite:///{sys.argv[1]}")
    store = DatabaseTaskStore(engine)
    # Otherwise the first requests make the table at the same time, and all but one of them fail.
    await store.initialize()
    handler = DefaultRequestHandler(Bench(), store, card)
    app = Starlette(routes=create_rest_routes(handler))
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="critical", access_log=False)
    await uvicorn.Server(config).serve([listening])


asyncio.run(main())
