PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE journal (
	one         INTEGER PRIMARY KEY CHECK (one = 1),
	incarnation TEXT    NOT NULL, -- 16 hexadecimal digits
	sequence    INTEGER NOT NULL
);
INSERT INTO journal VALUES(1,'8b0188617a437835',3);
CREATE TABLE job (
	id        TEXT    NOT NULL PRIMARY KEY,
	home      TEXT    NOT NULL, -- peer ID
	user      TEXT    NOT NULL, -- name at home
	state     TEXT    NOT NULL,
	standing  TEXT    NOT NULL, -- what this broker is to the job
	submitted INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	record    TEXT    NOT NULL  -- JSON
);
INSERT INTO job VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001','12D3KooWhome','alice','RUNNING','owning',1795000000123,1795000003000,'{"Key":"key","Standing":1,"State":6,"Epoch":{"Term":1,"Hop":2},"Owner":"12D3KooWother","Handoff":{"Phase":1,"To":"12D3KooWother","Epoch":{"Term":1,"Hop":2}},"Attempt":3,"Local":"4711","Submitted":1795000000123,"Started":1795000001000,"Finished":1795000002000,"Ended":1795000003000,"End":9,"ExitCode":7,"HasExit":true,"Signal":9,"Reason":"because","CancelRequested":true,"ContactLost":1795000004000,"PredictedStart":1795000005000,"EstimateNow":1795000006000,"Decisions":[{"At":1,"Epoch":{"Term":1,"Hop":2},"Chosen":"xeon32","Candidates":[{"Site":"xeon32","Peer":"12D3KooWother","Size":1,"Bandwidth":1.5,"Measured":true,"Delivery":2,"Wait":3,"Safe":0,"Run":4,"Total":9,"Chosen":true,"Refusal":{"Reason":"r","Asked":"1","Available":"0"}}]}],"Report":9223372036854775808,"Closed":true,"Trail":["12D3KooWhome","12D3KooWother"],"Removed":false,"Outputs":[{"Path":"out","Size":1,"Mode":384,"Ranges":"CQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJyg="}]}');
INSERT INTO job VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000002','12D3KooWhome','alice','RUNNING','owning',1795000000123,1795000003000,'{"Key":"key","Standing":1,"State":6,"Epoch":{"Term":1,"Hop":2},"Owner":"12D3KooWother","Handoff":{"Phase":1,"To":"12D3KooWother","Epoch":{"Term":1,"Hop":2}},"Attempt":3,"Local":"4711","Submitted":1795000000123,"Started":1795000001000,"Finished":1795000002000,"Ended":1795000003000,"End":9,"ExitCode":7,"HasExit":true,"Signal":9,"Reason":"because","CancelRequested":true,"ContactLost":1795000004000,"PredictedStart":1795000005000,"EstimateNow":1795000006000,"Decisions":[{"At":1,"Epoch":{"Term":1,"Hop":2},"Chosen":"xeon32","Candidates":[{"Site":"xeon32","Peer":"12D3KooWother","Size":1,"Bandwidth":1.5,"Measured":true,"Delivery":2,"Wait":3,"Safe":0,"Run":4,"Total":9,"Chosen":true,"Refusal":{"Reason":"r","Asked":"1","Available":"0"}}]}],"Report":9223372036854775808,"Closed":true,"Trail":["12D3KooWhome","12D3KooWother"],"Removed":false,"Outputs":[{"Path":"out","Size":1,"Mode":384,"Ranges":"CQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJyg="}]}');
CREATE TABLE document (
	id  TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
	job TEXT NOT NULL -- JSON
);
INSERT INTO document VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001','{"ID":"xeon16.01ARZ3NDEKTSV4RRFF00000001","Name":"render","Home":"12D3KooWhome","User":{"Home":"12D3KooWhome","Name":"alice"},"Rerunnable":true,"Demand":{"Chunks":[{"Count":2,"Processes":3,"Cores":4,"Memory":5}],"Architecture":"x86_64","System":"LINUX"},"Walltime":3600000,"WalltimeDefaulted":true,"Queue":"long","Program":{"Executable":"run.sh","Arguments":["-n","<>"," é"],"Input":"in","Output":"out","Error":"err","Directory":"work","Environment":[{"Name":"A","Value":"b"}],"Parallel":"MPI","MemoryLimit":1073741824},"Inputs":[{"Path":"work/in","Size":5242880,"Mode":420,"Ranges":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyACAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="},{"Path":"work/run.sh","Size":0,"Mode":493}],"Outputs":[{"Path":"work/out","Target":"out","Required":true}]}');
INSERT INTO document VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000002','{"ID":"xeon16.01ARZ3NDEKTSV4RRFF00000002","Name":"render","Home":"12D3KooWhome","User":{"Home":"12D3KooWhome","Name":"alice"},"Rerunnable":true,"Demand":{"Chunks":[{"Count":2,"Processes":3,"Cores":4,"Memory":5}],"Architecture":"x86_64","System":"LINUX"},"Walltime":3600000,"WalltimeDefaulted":true,"Queue":"long","Program":{"Executable":"run.sh","Arguments":["-n","<>"," é"],"Input":"in","Output":"out","Error":"err","Directory":"work","Environment":[{"Name":"A","Value":"b"}],"Parallel":"MPI","MemoryLimit":1073741824},"Inputs":[{"Path":"work/in","Size":5242880,"Mode":420,"Ranges":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyACAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="},{"Path":"work/run.sh","Size":0,"Mode":493}],"Outputs":[{"Path":"work/out","Target":"out","Required":true}]}');
CREATE TABLE event (
	job   TEXT    NOT NULL REFERENCES job (id) ON DELETE CASCADE,
	seq   INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	state TEXT    NOT NULL,
	site  TEXT    NOT NULL,
	term  INTEGER NOT NULL,
	hop   INTEGER NOT NULL,
	why   TEXT    NOT NULL,
	PRIMARY KEY (job, seq)
) WITHOUT ROWID;
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001',1,1795000000000,'READY','xeon16',1,0,'submitted');
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001',2,1795000000001,'READY','xeon16',1,1,'chosen: here');
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001',3,1795000000000,'READY','xeon16',1,0,'started');
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000002',1,1795000000000,'READY','xeon16',1,0,'submitted');
CREATE TABLE peer (
	number      INTEGER PRIMARY KEY, -- in the order in which they were first seen
	peer        TEXT    NOT NULL,
	incarnation TEXT    NOT NULL,
	sequence    TEXT    NOT NULL, -- 16 hexadecimal digits: any 64 bits, in order
	UNIQUE (peer, incarnation)
);
INSERT INTO peer VALUES(1,'12D3KooWother','0000000000000007','0000000000000009');
INSERT INTO peer VALUES(2,'12D3KooWother','0000000000000008','8000000000000000');
CREATE TABLE site (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	state TEXT    NOT NULL -- JSON
);
INSERT INTO site VALUES(1,'{"Draining":true}');
CREATE INDEX event_at ON event (at);
CREATE TRIGGER event_stays BEFORE UPDATE ON event
	BEGIN SELECT RAISE (ABORT, 'history is append only'); END;
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
COMMIT;
PRAGMA application_id = 1734505067;
PRAGMA user_version = 1;
