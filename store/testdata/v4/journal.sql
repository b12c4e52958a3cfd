PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE journal (
	one         INTEGER PRIMARY KEY CHECK (one = 1),
	incarnation TEXT    NOT NULL, -- 16 hexadecimal digits
	sequence    INTEGER NOT NULL
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO journal VALUES(1,'6f3058c24e9eef81',5,3089592715);
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
INSERT INTO job VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001','12D3KooWhome','alice','RUNNING','owning',1795000000123,1795000003000,'{"Key":"key","Standing":1,"State":6,"Epoch":{"Term":1,"Hop":2},"Owner":"12D3KooWother","Handoff":{"Phase":1,"To":"12D3KooWother","Epoch":{"Term":1,"Hop":2}},"Attempt":3,"Local":"4711","Submitted":1795000000123,"Started":1795000001000,"Finished":1795000002000,"Ended":1795000003000,"End":9,"ExitCode":7,"HasExit":true,"Signal":9,"Reason":"because","CancelRequested":true,"ContactLost":1795000004000,"PredictedStart":1795000005000,"EstimateNow":1795000006000,"Decisions":[{"At":1,"Epoch":{"Term":1,"Hop":2},"Chosen":"xeon32","Candidates":[{"Site":"xeon32","Peer":"12D3KooWother","Size":1,"Bandwidth":1.5,"Measured":true,"Delivery":2,"Wait":3,"Safe":0,"Run":4,"Total":9,"Chosen":true,"Refusal":{"Reason":"r","Asked":"1","Available":"0"}},{"Site":"xeon16","Peer":"12D3KooWhome","Size":1,"Bandwidth":333333333.3333333,"Measured":false,"Delivery":0,"Wait":0,"Safe":0,"Run":0,"Total":0,"Chosen":false,"Refusal":{"Reason":"nodes that it needs are down","Asked":"2","Available":"1","Passing":true}}]}],"Report":9223372036854775808,"Closed":true,"Trail":["12D3KooWhome","12D3KooWother"],"Removed":false,"Outputs":[{"Path":"out","Size":1,"Mode":384,"Ranges":"CQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJyg="}],"Stay":{"Decision":{"At":1,"Epoch":{"Term":1,"Hop":2},"Chosen":"","Candidates":[{"Site":"xeon32","Peer":"12D3KooWother","Size":1,"Bandwidth":1.5,"Measured":true,"Delivery":2,"Wait":3,"Safe":0,"Run":4,"Total":9,"Chosen":true,"Refusal":{"Reason":"r","Asked":"1","Available":"0"}},{"Site":"xeon16","Peer":"12D3KooWhome","Size":1,"Bandwidth":333333333.3333333,"Measured":false,"Delivery":0,"Wait":0,"Safe":0,"Run":0,"Total":0,"Chosen":false,"Refusal":{"Reason":"nodes that it needs are down","Asked":"2","Available":"1","Passing":true}}]},"Why":"no neighbour can take it now"},"Queued":1795000000500,"ExpectedStart":1795000000900,"Usage":{"CPU":90500,"Memory":2147483648}}',4270192881);
INSERT INTO job VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000002','12D3KooWhome','alice','COMPLETED','past',1795000000123,1795000003000,'{"Key":"key","Standing":4,"State":9,"Epoch":{"Term":1,"Hop":2},"Owner":"12D3KooWother","Handoff":{"Phase":1,"To":"12D3KooWother","Epoch":{"Term":1,"Hop":2}},"Attempt":3,"Local":"4711","Submitted":1795000000123,"Started":1795000001000,"Finished":1795000002000,"Ended":1795000003000,"End":9,"ExitCode":7,"HasExit":true,"Signal":9,"Reason":"because","CancelRequested":true,"ContactLost":1795000004000,"PredictedStart":1795000005000,"EstimateNow":1795000006000,"Decisions":[{"At":1,"Epoch":{"Term":1,"Hop":2},"Chosen":"xeon32","Candidates":[{"Site":"xeon32","Peer":"12D3KooWother","Size":1,"Bandwidth":1.5,"Measured":true,"Delivery":2,"Wait":3,"Safe":0,"Run":4,"Total":9,"Chosen":true,"Refusal":{"Reason":"r","Asked":"1","Available":"0","Passing":true}}]}],"Report":9223372036854775808,"Closed":true,"Trail":["12D3KooWhome","12D3KooWother"],"Removed":false,"Outputs":[{"Path":"out","Size":1,"Mode":384,"Ranges":"CQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJyg="}]}',3618028710);
INSERT INTO job VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000003','12D3KooWhome','alice','RUNNING','owning',1795000000123,1795000003000,'{"Key":"key","Standing":1,"State":6,"Epoch":{"Term":1,"Hop":2},"Owner":"12D3KooWother","Handoff":{"Phase":1,"To":"12D3KooWother","Epoch":{"Term":1,"Hop":2}},"Attempt":3,"Local":"4711","Submitted":1795000000123,"Started":1795000001000,"Finished":1795000002000,"Ended":1795000003000,"End":9,"ExitCode":7,"HasExit":true,"Signal":9,"Reason":"because","CancelRequested":true,"ContactLost":1795000004000,"PredictedStart":1795000005000,"EstimateNow":1795000006000,"Decisions":null,"Report":9223372036854775808,"Closed":true,"Trail":["12D3KooWhome","12D3KooWother"],"Removed":false,"Outputs":[{"Path":"out","Size":1,"Mode":384,"Ranges":"CQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJyg="}]}',1019683351);
CREATE TABLE document (
	id  TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
	job TEXT NOT NULL -- JSON
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO document VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001','{"ID":"xeon16.01ARZ3NDEKTSV4RRFF00000001","Name":"render","Home":"12D3KooWhome","User":{"Home":"12D3KooWhome","Name":"alice"},"Rerunnable":true,"Demand":{"Chunks":[{"Count":2,"Processes":3,"Cores":4,"Memory":5}],"Architecture":"x86_64","System":"LINUX"},"Walltime":3600000,"WalltimeDefaulted":true,"Queue":"long","Program":{"Executable":"run.sh","Arguments":["-n","<>"," é"],"Input":"in","Output":"out","Error":"err","Directory":"work","Environment":[{"Name":"A","Value":"b"}],"Parallel":"MPI","MemoryLimit":1073741824},"Inputs":[{"Path":"work/in","Size":5242880,"Mode":420,"Ranges":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyACAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="},{"Path":"work/run.sh","Size":0,"Mode":493}],"Outputs":[{"Path":"work/out","Target":"out","Required":true}]}',2151582454);
INSERT INTO document VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000002','{"ID":"xeon16.01ARZ3NDEKTSV4RRFF00000002","Name":"render","Home":"12D3KooWhome","User":{"Home":"12D3KooWhome","Name":"alice"},"Rerunnable":true,"Demand":{"Chunks":[{"Count":2,"Processes":3,"Cores":4,"Memory":5}],"Architecture":"x86_64","System":"LINUX"},"Walltime":3600000,"WalltimeDefaulted":true,"Queue":"long","Program":{"Executable":"run.sh","Arguments":["-n","<>"," é"],"Input":"in","Output":"out","Error":"err","Directory":"work","Environment":[{"Name":"A","Value":"b"}],"Parallel":"MPI","MemoryLimit":1073741824},"Inputs":[{"Path":"work/in","Size":5242880,"Mode":420,"Ranges":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyACAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="},{"Path":"work/run.sh","Size":0,"Mode":493}],"Outputs":[{"Path":"work/out","Target":"out","Required":true}]}',1051535351);
INSERT INTO document VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000003','{"ID":"xeon16.01ARZ3NDEKTSV4RRFF00000003","Name":"render","Home":"12D3KooWhome","User":{"Home":"12D3KooWhome","Name":"alice"},"Rerunnable":true,"Demand":{"Chunks":[{"Count":2,"Processes":3,"Cores":4,"Memory":5}],"Architecture":"x86_64","System":"LINUX"},"Walltime":3600000,"WalltimeDefaulted":true,"Queue":"long","Program":{"Executable":"run.sh","Arguments":["-n","<>"," é"],"Input":"in","Output":"out","Error":"err","Directory":"work","Environment":[{"Name":"A","Value":"b"}],"Parallel":"MPI","MemoryLimit":1073741824},"Inputs":[{"Path":"work/in","Size":5242880,"Mode":420,"Ranges":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyACAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="},{"Path":"work/run.sh","Size":0,"Mode":493}],"Outputs":[{"Path":"work/out","Target":"out","Required":true}]}',2826464935);
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
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000001',1,1795000000000,'RUNNING','xeon16',1,2,'started',806506648);
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000002',1,1795000000000,'COMPLETED','xeon16',1,2,'started',2905214215);
INSERT INTO event VALUES('xeon16.01ARZ3NDEKTSV4RRFF00000003',1,1795000000000,'RUNNING','xeon16',1,2,'started',144172062);
CREATE TABLE site (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	state TEXT    NOT NULL -- JSON
, sum INTEGER NOT NULL DEFAULT 0);
INSERT INTO site VALUES(1,'{"Draining":true,"Since":6}',4093415067);
CREATE TABLE life (
	number INTEGER PRIMARY KEY, -- in the order of the starts
	life   TEXT    NOT NULL, -- 16 hexadecimal digits
	first  INTEGER NOT NULL, -- the sequence when it began
	sum    INTEGER NOT NULL
);
INSERT INTO life VALUES(1,'4c02a3292ad2bac3',0,3220554302);
CREATE TABLE peer (
	number      INTEGER PRIMARY KEY, -- in the order in which they were first seen
	peer        TEXT    NOT NULL,
	incarnation TEXT    NOT NULL,
	life        TEXT    NOT NULL, -- 16 hexadecimal digits; all zero: of a broker that has none
	sequence    TEXT    NOT NULL, -- 16 hexadecimal digits: any 64 bits, in order
	sum         INTEGER NOT NULL,
	UNIQUE (peer, incarnation, life)
);
INSERT INTO peer VALUES(1,'12D3KooWother','8000000000000000','0000000000000004','0000000000000009',3390728956);
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
CREATE INDEX job_user ON job (user, id);
COMMIT;
PRAGMA application_id = 1734505067;
PRAGMA user_version = 4;
