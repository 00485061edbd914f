-- What was decided last is told by the order of events, and no more by clocks. Rows come from the journal, which is
-- projected again.
UPDATE cursor SET log_id = '';
