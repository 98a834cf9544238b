"""Asks a client of either era: by requests while the call runs, or by a result and a retry."""

import base64
import json

import anyio
import mcp_types as types
from mcp.shared.message import ServerMessageMetadata

ANSWERS = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


class NeedsInput(Exception):
    """The call ends here with questions; the client calls again with the answers."""

    def __init__(self, result):
        super().__init__("input required")
        self.result = result


class Questions:
    """What one call asks. Answers of earlier rounds travel in the request state."""

    def __init__(self, ctx, params, modern):
        self.ctx, self.modern = ctx, modern
        self.known = json.loads(base64.b64decode(params.request_state)) if params.request_state else {}
        for key, answer in (params.input_responses or {}).items():
            self.known[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def ask(self, questions):
        """The answers under the keys of the questions."""
        if not self.modern:
            return await self.ask_with_requests(questions)
        missing = {key: question for key, question in questions.items() if key not in self.known}
        if missing:
            state = base64.b64encode(json.dumps(self.known).encode()).decode()
            raise NeedsInput(types.InputRequiredResult(input_requests=missing, request_state=state))
        return {key: answer_to(question).model_validate(self.known[key]) for key, question in questions.items()}

    async def ask_with_requests(self, questions):
        metadata = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        answers = {}

        async def send(key, question):
            answers[key] = await self.ctx.session.send_request(question, answer_to(question), metadata=metadata)

        async with anyio.create_task_group() as group:
            for key, question in questions.items():
                group.start_soon(send, key, question)
        return answers


def answer_to(question):
    if getattr(question.params, "tools", None):
        return types.CreateMessageResultWithTools
    return ANSWERS[question.method]
