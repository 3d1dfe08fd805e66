"""HTTP route for what Stripe sends."""

from attestlab.billing.providers.service import StripeEvents
from attestlab.billing.providers.shapes import StripeEventOut
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("billing")
_BODY_LIMIT_BYTES = 256 * 1024


@routes.post("/billing/stripe/webhook", scope=PUBLIC, signed=True, idempotency="none", body_limit=_BODY_LIMIT_BYTES)
async def record_stripe_event(request: Request, stripe_events: StripeEvents, executor: Executor) -> StripeEventOut:
    """Take an event that Stripe signed: the tenant it is about gets the plan and the add-ons that it pays for there.

    Each event takes effect once, and without a `Stripe-Signature` of the last five minutes it is a 400. The service
    asks Stripe what the customer has now, so events may come in any order.
    """
    event = stripe_events.read(request.unparsed, request.header("Stripe-Signature"))
    customer_id = await executor.read(stripe_events.find_changed_customer, event)
    if customer_id is not None:
        reading = await executor.outbound.run(f"stripe:{customer_id}", stripe_events.ask, event, customer_id)
        await executor.write(lambda tx: stripe_events.apply(reading, tx=tx))
    return StripeEventOut(received=True)
