-- What was decided last is told by the order of events, and no more by clocks. Rows come from the journal, which is
-- projected again; vectors stay, since it is the same log.
UPDATE cursor SET epoch = 0;
