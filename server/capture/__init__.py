"""The hub's side of hooks: events from the spool become episodes, and prompts get context.

``reader`` takes events from the spool, ``sessions`` keeps what is known of each client's session, ``filing`` decides
what an event means and stores it, ``worth`` gathers evidence and closes, ``briefing`` words context, ``binding`` leads
an agent's own calls to the episode that hooks record. docs/hooks.md tells the whole.
"""
