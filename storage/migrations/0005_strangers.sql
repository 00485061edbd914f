-- Nothing is learned from the episodes of people who are not trusted. Rows come from the journal, which is projected again.
ALTER TABLE episodes ADD COLUMN strange INTEGER NOT NULL DEFAULT 0;
UPDATE cursor SET log_id = '';
