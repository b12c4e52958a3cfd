PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE document (
	id  TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
	job TEXT NOT NULL -- JSON
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO "document" VALUES('xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV','{"ID":"xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV","Name":"old","Home":"home","User":{"Home":"home","Name":"alice"},"Rerunnable":false,"Demand":{"Chunks":[{"Count":1,"Processes":1,"Cores":1,"Memory":0}],"Architecture":"","System":""},"Walltime":60000,"WalltimeDefaulted":false,"Queue":"","Program":{"Executable":"run.sh","Input":"","Output":"","Error":"","Directory":"","Parallel":"","MemoryLimit":0}}',2355180342);
CREATE TABLE event (
	job   TEXT    NOT NULL REFERENCES job (id) ON DELETE CASCADE,
	seq   INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	state TEXT    NOT NULL,
	site  TEXT    NOT NULL,
	term  INTEGER NOT NULL,
	hop   INTEGER NOT NULL,
	why   TEXT    NOT NULL, sum INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (job, seq)
) WITHOUT ROWID;
INSERT INTO "event" VALUES('xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV',1,1795000000000,'RUNNING','xeon16',1,65537,'started',2857498665);
CREATE TABLE job (
	id        TEXT    NOT NULL PRIMARY KEY,
	home      TEXT    NOT NULL, -- peer ID
	user      TEXT    NOT NULL, -- name at home
	state     TEXT    NOT NULL,
	standing  TEXT    NOT NULL, -- what this broker is to the job
	submitted INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	record    TEXT    NOT NULL  -- JSON
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO "job" VALUES('xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV','home','alice','RUNNING','watching',1795000000000,0,'{"Key":"","Standing":2,"State":6,"Epoch":{"Term":1,"Hop":65537},"Owner":"owner","Handoff":{"Phase":0,"To":"","Epoch":{"Term":0,"Hop":0}},"Attempt":0,"Local":"","Submitted":1795000000000,"Started":0,"Finished":0,"Ended":0,"End":0,"ExitCode":0,"HasExit":false,"Signal":0,"Reason":"","CancelRequested":false,"ContactLost":0,"PredictedStart":0,"EstimateNow":0,"Decisions":null,"Report":0,"Closed":false,"Trail":null,"Removed":false,"Candidate":{"Incarnation":7,"Sequence":9},"Uncertain":true}',2268307823);
CREATE TABLE journal (
	one         INTEGER PRIMARY KEY CHECK (one = 1),
	incarnation TEXT    NOT NULL, -- 16 hexadecimal digits
	sequence    INTEGER NOT NULL
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO "journal" VALUES(1,'fae061ce9a436289',2,1633943970);
CREATE TABLE peer (
	number      INTEGER PRIMARY KEY, -- in the order in which they were first seen
	peer        TEXT    NOT NULL,
	incarnation TEXT    NOT NULL,
	sequence    TEXT    NOT NULL, sum INTEGER NOT NULL DEFAULT 0, -- 16 hexadecimal digits: any 64 bits, in order
	UNIQUE (peer, incarnation)
);
INSERT INTO "peer" VALUES(1,'owner','8000000000000005','000000000000002c',2012793915);
INSERT INTO "peer" VALUES(2,'owner','0000000000000006','0000000000000002',2117033848);
CREATE TABLE site (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	state TEXT    NOT NULL -- JSON
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO "site" VALUES(1,'{"Draining":true,"RolledBack":12,"WentBack":true,"Since":1795000000001}',2585995220);
CREATE INDEX event_at ON event (at);
CREATE VIEW jobs AS SELECT id, state, standing, user,
	record ->> 'Owner' AS owner,
	CASE submitted WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', submitted / 1000.0, 'unixepoch') END AS submitted,
	CASE ended WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1000.0, 'unixepoch') END AS ended,
	record ->> 'Reason' AS reason
	FROM job;
CREATE VIEW history AS SELECT job, seq,
	strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at,
	state, site, term || '.' || hop AS epoch, why
	FROM event;
CREATE TRIGGER event_stays BEFORE UPDATE ON event
	BEGIN SELECT RAISE (ABORT, 'history is append only'); END;
COMMIT;
PRAGMA application_id = 1734505067;
PRAGMA user_version = 2;
