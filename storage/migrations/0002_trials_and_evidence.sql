-- Skills on trial beside their version before; the session that asked; what memories rest on.
ALTER TABLE skills ADD COLUMN trial_of INTEGER;
ALTER TABLE exposures ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN support INTEGER NOT NULL DEFAULT 1;
ALTER TABLE memories ADD COLUMN against INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN evidence TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
CREATE INDEX episodes_by_session ON episodes (session, opened_at);
