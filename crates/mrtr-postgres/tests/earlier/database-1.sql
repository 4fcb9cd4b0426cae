--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: mrtr; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA mrtr;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: change; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.change (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    task uuid NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');


--
-- Name: entry; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.entry (
    task bigint NOT NULL,
    number bigint NOT NULL,
    bytes bytea NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY mrtr.entry ALTER COLUMN bytes SET STORAGE EXTERNAL;


--
-- Name: memory; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.memory (
    only_row boolean DEFAULT true NOT NULL,
    since bigint NOT NULL,
    purged_issued bigint DEFAULT 0 NOT NULL,
    purged_end bigint DEFAULT 0 NOT NULL,
    CONSTRAINT memory_only_row_check CHECK (only_row)
);


--
-- Name: migration; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.migration (
    number integer NOT NULL,
    applied timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: open_count; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.open_count (
    owner_key uuid NOT NULL,
    shard smallint NOT NULL,
    open bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');


--
-- Name: question; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.question (
    task bigint NOT NULL,
    key text NOT NULL,
    body bytea
)
WITH (autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY mrtr.question ALTER COLUMN body SET STORAGE EXTERNAL;


--
-- Name: redemption; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.redemption (
    id bigint NOT NULL,
    issued bigint NOT NULL,
    key bytea NOT NULL,
    answers bytea NOT NULL,
    keep_until bigint NOT NULL,
    fence bigint NOT NULL,
    holder bigint NOT NULL,
    lapses bigint,
    steps bigint DEFAULT 0 NOT NULL,
    stamp bigint DEFAULT 0 NOT NULL,
    reply bytea,
    CONSTRAINT redemption_check CHECK (((lapses IS NULL) OR (reply IS NULL)))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY mrtr.redemption ALTER COLUMN reply SET STORAGE EXTERNAL;


--
-- Name: redemption_id_seq; Type: SEQUENCE; Schema: mrtr; Owner: -
--

ALTER TABLE mrtr.redemption ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mrtr.redemption_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: reservation_fence; Type: SEQUENCE; Schema: mrtr; Owner: -
--

CREATE SEQUENCE mrtr.reservation_fence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: shown; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.shown (
    task bigint NOT NULL,
    message bytea,
    result bytea
);
ALTER TABLE ONLY mrtr.shown ALTER COLUMN message SET STORAGE EXTERNAL;
ALTER TABLE ONLY mrtr.shown ALTER COLUMN result SET STORAGE EXTERNAL;


--
-- Name: state; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.state (
    place bigint NOT NULL,
    version bigint NOT NULL,
    stamp bigint NOT NULL,
    shard smallint NOT NULL,
    tool text NOT NULL,
    updated bigint NOT NULL,
    ttl bigint,
    fence bigint NOT NULL,
    leased_until bigint,
    due bigint,
    run_again boolean NOT NULL,
    progressed boolean NOT NULL,
    lost_runs integer NOT NULL,
    open text[] NOT NULL,
    ended_as text,
    ended bigint,
    last_entry bigint NOT NULL,
    attention bigint,
    expires bigint,
    removable bigint,
    CONSTRAINT state_check CHECK (((ended_as IS NULL) = (ended IS NULL)))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');


--
-- Name: step; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.step (
    redemption bigint NOT NULL,
    name text NOT NULL,
    number bigint NOT NULL,
    fence bigint NOT NULL,
    stamp bigint NOT NULL,
    outcome bytea
);
ALTER TABLE ONLY mrtr.step ALTER COLUMN outcome SET STORAGE EXTERNAL;


--
-- Name: step_number_seq; Type: SEQUENCE; Schema: mrtr; Owner: -
--

ALTER TABLE mrtr.step ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mrtr.step_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: task; Type: TABLE; Schema: mrtr; Owner: -
--

CREATE TABLE mrtr.task (
    place bigint NOT NULL,
    id uuid NOT NULL,
    owner_key uuid NOT NULL,
    owner text NOT NULL,
    flow uuid NOT NULL,
    tool text NOT NULL,
    revision integer NOT NULL,
    created bigint NOT NULL,
    poll_interval bigint NOT NULL,
    retention bigint NOT NULL
);


--
-- Name: task_place_seq; Type: SEQUENCE; Schema: mrtr; Owner: -
--

ALTER TABLE mrtr.task ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mrtr.task_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Data for Name: change; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.change VALUES ('744', '260e0259-5038-c374-7708-397ec39fd419');
INSERT INTO mrtr.change VALUES ('746', '260e0259-5038-c374-7708-397ec39fd419');
INSERT INTO mrtr.change VALUES ('748', '260e0259-5038-c374-7708-397ec39fd419');
INSERT INTO mrtr.change VALUES ('749', '260e0259-5038-c374-7708-397ec39fd419');
INSERT INTO mrtr.change VALUES ('750', '260e0259-5038-c374-7708-397ec39fd419');
INSERT INTO mrtr.change VALUES ('752', '260e0259-5038-c374-7708-397ec39fd419');
INSERT INTO mrtr.change VALUES ('754', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('756', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('757', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('759', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('760', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('761', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('762', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('764', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('765', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('766', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('767', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('769', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('770', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('772', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('773', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('775', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('776', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('778', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('779', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('780', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('781', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('783', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('784', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('786', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('788', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');
INSERT INTO mrtr.change VALUES ('790', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');
INSERT INTO mrtr.change VALUES ('791', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');
INSERT INTO mrtr.change VALUES ('793', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');
INSERT INTO mrtr.change VALUES ('795', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');
INSERT INTO mrtr.change VALUES ('796', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');
INSERT INTO mrtr.change VALUES ('797', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('799', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('800', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('801', 'a9f3e6b2-1418-f520-774b-c65f9262f0a5');
INSERT INTO mrtr.change VALUES ('803', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('804', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('805', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('807', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('808', '3940dc6a-6394-209a-51cf-3bab4c0a0b79');
INSERT INTO mrtr.change VALUES ('810', '6ac4b8de-0408-d970-aa89-443b1bd7378a');
INSERT INTO mrtr.change VALUES ('811', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('812', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('814', '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe');
INSERT INTO mrtr.change VALUES ('815', '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3');


--
-- Data for Name: entry; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.entry VALUES (1, 0, '\x01026b317effe074299f909b0f315be162818e68661387a15bfb571c53f15874a1ba851bf42da21df55bb87625b9bd95683214ed018cc30cbddba0dcd2bba7e400c42cd981a3fc8e2bdbdca076acf89b8322d03cd7b629d5ee1d5c3fdec4db17d2e325a61bb3fe3788fe79ddf7767e81cfa2ffb614b1c5d7052ce5ef55e6614cee18ea30c31ddcf7496e9450b045054283233a502cc73c6433612003c1f75f4ce46145d985bf547b41823ccb9e1c53e585fa13407aef8a01c0a9eb1b072d47364ecbe69d8bfdcb02d3c9ed135046db59676b1ccc3c79e82dc09844522a952202147522523ddac6ded993328ba0c1fcb840edaf0d4fd959b69b0c9db48761f29a400e34d76a89bfc66d4e0f21416008569003f82d269113d45db826186eed990c60231caed4d2a7ec1cd0e31154bc51d32bc8b693b94a247f87a0fda99ad143973f');
INSERT INTO mrtr.entry VALUES (1, 1, '\x01026b315ec6bedd7fa1078a4315dea4066d84da6053f113ca455bfdb1a3f0d27d7a03daf3713e902aed33368a53dc91348928d4269a');
INSERT INTO mrtr.entry VALUES (1, 2, '\x01026b310b02430698f8364ada3075a63011dc587ec12eb25574e38c14a4d5a3aa62bdd9dcfb47ccb833bdc84b517930ac264fa6977a66a4db3ec52fd148aa');
INSERT INTO mrtr.entry VALUES (1, 3, '\x01026b317aff0fe38ee400e36324abc78f96189e3b7a20986f5da9a5e4ece7b5b7a9626ed42c14dee7e42a904fa3b5f31ba8aaeaece288');
INSERT INTO mrtr.entry VALUES (2, 0, '\x01026b31d2fe75348496b52aac439aee9f36a80e1d570252e022725f62fe354fd58c4436d291f65690e82e08177ffc6750f73a4116c7b179085f563c91002c614fd524f3ac4c8f814ceb6fb7e3d1e82fa5d4da636e2a412f58f1048a062b41183d86dd97ae68b1d43ba38314a4d68a48a34b519d85a6162bbcdd99b0f5a267c6094391eac88b91c48fb892130b68375b1c473303e32072132e35e2a4113552f03a548c4ca72980a7648c174a96784391fbd561cae4675c2a8e4c50fc5554727f6427afe652b2d310d7c4bd487e15059741cafce9fa8ae6ded1fa463ff29230045a7b96977bbf0605da03008c9cb5386820e45021203c8ff180d5052fbe9474e30edd0eb89f9baee50ed92a6b57b6885161d71755fa020a93daf5d7d170df84f9fb10bf42eee7313a6f52673f3a5994135a5552005de2026a16b03fa679919b1dbd');
INSERT INTO mrtr.entry VALUES (2, 1, '\x01026b31f3e3fc7647bb2efd8322840cabab260e50bb2167fe143ed9fbd93cd648b830e7ab23182cfffe1771e1d0b760f71775165134');
INSERT INTO mrtr.entry VALUES (2, 2, '\x01026b31ff2dc8e9677a83e4643da59250764773282f4a560c7b65718b04bc660add1dc0a0795727847ca13847bba20b253ba4b12967ede43a9ed7be573472');
INSERT INTO mrtr.entry VALUES (2, 3, '\x01026b319bec33516ac84dbceab5849fa60c343706a882b0db429e274b071c8ef3c8a6192015acb1fba27bbbff89d85eec04a5c70ac9b3');
INSERT INTO mrtr.entry VALUES (5, 0, '\x01026b3186a481e7510b7fb3059a497c0cd40cba835874d00ca5a157ef6c191eb1996d8d30fc2bc5eac5c397b239f141446ece777e1403b5275a3820027ad26332c1609d9974b91bc712cc43a86c87ae335fadeee619956421be64ed11eb7ee3cb39ad3318635e30b39627c95c732555148964130250367ccf7bc28407590adcb1ae541a4d9cf2d2720400a8a4e3d6cf3958e0a60c49fb3b3eafd8680f0330953ce2f7ca732b77ea40afe6c142954e413b2261993a6a0cf619ba10a693c23904cd44f6b00040684a5729cc014c816e92afa42b4c6017819392cea2118792392401da7f62c09d553adffa024e80bfe8a020cd80ca16fa6269a48a9dff9ef446e6fbf75605d5ed76630a48039e77632a92e3bf265080300c02508d7bb4a8723d8a8f255ed86d6e91261d2b39efc524c754bc70e2dad1a7c53904b643eb55f46beded');
INSERT INTO mrtr.entry VALUES (5, 1, '\x01026b31a2cabdc61751fdd2ca9f0e5e4a10edce4e3909708b41d2481b1e13a589797cfdf425ef6c288f307606e9172bdf17af11fbe2');
INSERT INTO mrtr.entry VALUES (5, 2, '\x01026b31dc9c6cc99427c245c041cd66b1278271645d2c912ddc85f236be2d91f8c3d485044a6c4d7976a661305f77e8b00e833daf616abb75eb4d559bad2f');
INSERT INTO mrtr.entry VALUES (5, 3, '\x01026b3136c4c1f72d4ab81a2c2b1f9191fc10f475ea39fd8401fbeb50d6edd2be5e12a7665ff528c7e65065227db9f1a09ada70349d67');
INSERT INTO mrtr.entry VALUES (6, 0, '\x01026b31d37f630017506c7683267a7ad8356da44591e5e9e5c67d7a525e3cb0f32cd6dbc655e84458b4e95048b84c1637282814382033af7101ec6a4039eb9d832207998984188580ef8d3b62f53ef47429550451ea627276a9817318d48c244f444b2fc4920051e7cd427a3cf825b5dfb54b1b1fc42cb8f81a02c56b0fbdd10f6ff285c15768f56ee69968212af61f9906469560000467b53f29edc41b86a7d5a68565479b4302377ec0f103f06fc471f44524827aa17dfd7c2f4659e7234c05974be5aa3489594a2d28389f5ca12a95c3ca7666d79d32d3003c5d0010d65dcb2db3c033d3b2877d0e287df3d5cc6754fb7d921a1310417734c834be1947f8bce72addd715ba359135c45f076ef7b184230f03fd79babdcb5416e3788cce663dd26be8fa0f8f2582b0acc8e7c2ac5b3992e2a0df45dc8636781fbf36f2097f51');
INSERT INTO mrtr.entry VALUES (6, 1, '\x01026b31ccfc919472a508bfab4df19c0ee07eb72e86fe8c32a93609cc058b675639eeb48eda10d4e50ee39b90af3792626a24736a60');
INSERT INTO mrtr.entry VALUES (6, 2, '\x01026b31057837a638b0e0ffaf74e9fa7c10279a09287f2511e860aeae7ba2e4669694bb1aec73e8d00e2b90667a29ec13d62c6988416587d685b7f31943ea');
INSERT INTO mrtr.entry VALUES (6, 3, '\x01026b318f1999b310fcc9e0ed2565d4ac01ccd05466dbad7a84ad3912e4f424698f034a8cde1a415d86e79d12452f8ffd76e1f8228190');
INSERT INTO mrtr.entry VALUES (2, 4, '\x01026b31b2f23d3e29febf2dd0922623271a44fd207cab40eac8e4b23367951c5516becdc810be65a359908165b359cd746a7935a622d6333f79c5f769180b4c072b65b68b32cb9252b3546042153f445cc8542bbbb51dbe18b12308c22fce32');
INSERT INTO mrtr.entry VALUES (2, 5, '\x01026b3184bf5429c73fc5f13f52501c4ac3b4bf7d23ca7658323045b2af86640672069ad0209bc995236d58ba2684212cf9046c35a18737c440c3e041eabdfeca7e59ab099cb4804619b47b11d53084');
INSERT INTO mrtr.entry VALUES (5, 4, '\x01026b31f926314cdd6472ba4b4b3301b659c5382237940a6820ffe06ab97f68f47c9ff5fe70b871539dc720164949b304e9e0ef3808016f04eaa78ea18462ab4346e56f979cbb73510d81022ac55be90e935c460b6cb6d7054baa4578df0a5bb10ac2');
INSERT INTO mrtr.entry VALUES (5, 5, '\x01026b31a12a00364b215466c4d1298b55eeb0e0dd767c0fce466caa33994c87a7183ee92ca8f3642fee8648a480adcd87b53e');
INSERT INTO mrtr.entry VALUES (6, 4, '\x01026b318ae361a775f6524d2922fa3c3371e78a32e8ddb16d0231914ad9866ece878968e4674195ce9d52d7f6d11a99760d3c84f64fa04846cc701983dd49902625b6a2d65c29a6c7c99e099e4caada2302d16e16e6a4e803798dc7826a3b4dcb3633');


--
-- Data for Name: memory; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.memory VALUES (true, 1785240000000, 0, 0);


--
-- Data for Name: migration; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.migration VALUES (1, '2026-11-18 07:12:01.563477+00');


--
-- Data for Name: open_count; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.open_count VALUES ('3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', 0, 2);
INSERT INTO mrtr.open_count VALUES ('3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', 13, 1);
INSERT INTO mrtr.open_count VALUES ('3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', 10, 1);
INSERT INTO mrtr.open_count VALUES ('3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', 12, 0);


--
-- Data for Name: question; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.question VALUES (1, 'name', '\x01026b312b9d865b8b51f10b32a159770693f06631c07b634a97984cddedbaf783d883d100383abb2d624b47f86e51000073864f619ac7490d0413e62bcde9d5ea3ce06052ab6159d184dc7a6ce81387354676f3aafebf0c25690f7aaa3160d290eac8e6dbbdfdbe35ed63ba6adb2c5fdfad52ea09ed506e983d8cc97cd257e6492c25089520b2add6a33df0c1e17a91c5c303d5ec4b82b7492ffe20dcaf7c2aa34fe2c2f0d991773c672f43ce91727a87361c956f6fad8d417168cbc5191768503fda96c732eca44720779a0f1565da8690140f3fed14989dba1cb51a6ace5fb75c8bb1b353a6d0539809862eb5b55812e4fbe5c9fb5c739cfc9a7373817b99b6550e9464bcf63667607ee213105ea2575b4d2eed7f2a5fb7c743a534');
INSERT INTO mrtr.question VALUES (2, 'name', NULL);
INSERT INTO mrtr.question VALUES (2, 'name.2', '\x01026b314db1484369adb76f1866f7f17a13fcb4c264089be61f4e317e385a14457f4c88b06591b1313c2efb4cb03d09bbfa64b88d10e3e1985623e30889505bd60ab91de28350cdd21e85df236f1d6e3b2eff4f62b2bbacf932bce0de4349bebef8ad162cf16bc5b99052f0f88a40bd7e07c9d1f3e130dee33398543a6f70d4237fa12158df2e17a1c17b352527c43d7989b3c8482f9ad02163a81fd60c6cfd7b9122a51039b2f673bf581c8570ceb1425f26a1968ef1a314cf7c8f10c750caf86795e1d707df297fe0981eee5e3ccf5ac4ed539ce5a40da16175473f1c6a9477f7879cf9aaeabcb6b8ef81b9e5a1ec6658f1b7511cbebad539efcefc33f41c7ed0ecaec883bea9f70a4095946baa51b1a008a048d68aa4da4ff6fa1313ba26eb69dc6779eb3fbcc92e10e56a3c859805ad');
INSERT INTO mrtr.question VALUES (5, 'name', NULL);
INSERT INTO mrtr.question VALUES (6, 'name', NULL);


--
-- Data for Name: redemption; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.redemption OVERRIDING SYSTEM VALUE VALUES (1, 1785240000000, '\xf4b517d8654c42b20289bb371f44248a61124d28bc8127bdbfafc1a6e627746b', '\x8287b27ed7f3589bb5b99505cb156941f056b04d243ff08b5d0962a48ea157b9', 1785326520000, 1, 5542891298441735773, NULL, 1, 1, '\x70616964');
INSERT INTO mrtr.redemption OVERRIDING SYSTEM VALUE VALUES (2, 1785240000000, '\x8563784937a6d4c98f561e860e94369c04dfc34d2ff675585b9d7ab37dba394c', '\x8287b27ed7f3589bb5b99505cb156941f056b04d243ff08b5d0962a48ea157b9', 1785326520000, 2, 8903864653995118185, 1785240030000, 1, 3, NULL);
INSERT INTO mrtr.redemption OVERRIDING SYSTEM VALUE VALUES (3, 1785240000000, '\xec81e123ae086739cf01baa87f0a45e5965009f663ecc802a7942429d51af095', '\x8287b27ed7f3589bb5b99505cb156941f056b04d243ff08b5d0962a48ea157b9', 1785326520000, 3, -5852332789388463054, 1785240030000, 3, 6, NULL);
INSERT INTO mrtr.redemption OVERRIDING SYSTEM VALUE VALUES (4, 1785240000000, '\x114d1c9a8ab5be9ce11d73e8bb6c9e24089f7c9b02ee1ca675c40e6539a733cd', '\x8287b27ed7f3589bb5b99505cb156941f056b04d243ff08b5d0962a48ea157b9', 1785326520000, 4, -7184435116334762723, NULL, 2, 8, NULL);


--
-- Data for Name: shown; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.shown VALUES (3, NULL, '\x01026b3187f54fc9b6d5d81492b1e208df7aa28f00fcf4506133746727dc74892ff0e229387faa85d5e5164be847994acf7590e269182a6498121e96e3f68302b33964e34318dd63418c8e352cabbd7d07b7ff597da78fb0519404131c9b272cc5704ebc7e43eaaee14910da40fe75ced2174d71ceb9b0e7ff5b419896dfdae7');


--
-- Data for Name: state; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.state VALUES (2, 9, 5897724718077651061, 0, 'tool', 1785240000000, 3153600000000, 2, NULL, NULL, false, false, 0, '{name.2}', NULL, NULL, 5, NULL, 4938840000000, NULL);
INSERT INTO mrtr.state VALUES (1, 5, -8992855730090245040, 10, 'tool', 1785240000000, 3153600000000, 1, NULL, NULL, false, false, 0, '{name}', NULL, NULL, 3, NULL, 4938840000000, NULL);
INSERT INTO mrtr.state VALUES (3, 10, 6255795248573131442, 10, 'tool', 1785240000000, 3153600000000, 2, NULL, NULL, false, false, 0, '{}', 'completed', 1785240000000, 6, NULL, NULL, 4938840000000);
INSERT INTO mrtr.state VALUES (4, 6, -96732529001723440, 12, 'tool', 1785240000000, 3153600000000, 1, NULL, NULL, false, false, 0, '{}', 'cancelled', 1785240000000, 3, NULL, NULL, 4938840000000);
INSERT INTO mrtr.state VALUES (5, 8, 6867357698712430404, 0, 'tool', 1785240000000, 3153600000000, 2, 1785240030000, NULL, false, true, 0, '{}', NULL, NULL, 5, 1785240030000, 4938840000000, NULL);
INSERT INTO mrtr.state VALUES (6, 6, 579606279796081348, 13, 'tool', 1785240000000, 3153600000000, 1, NULL, 1785240000000, false, false, 0, '{}', NULL, NULL, 4, 1785240000000, 4938840000000, NULL);


--
-- Data for Name: step; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.step OVERRIDING SYSTEM VALUE VALUES (2, 'charge', 2, 2, 3, NULL);
INSERT INTO mrtr.step OVERRIDING SYSTEM VALUE VALUES (3, 'charge', 3, 3, 5, '\x342e3230');
INSERT INTO mrtr.step OVERRIDING SYSTEM VALUE VALUES (3, 'ship', 5, 3, 6, NULL);
INSERT INTO mrtr.step OVERRIDING SYSTEM VALUE VALUES (4, 'charge', 6, 4, 8, '\x342e3230');


--
-- Data for Name: task; Type: TABLE DATA; Schema: mrtr; Owner: -
--

INSERT INTO mrtr.task OVERRIDING SYSTEM VALUE VALUES (1, '260e0259-5038-c374-7708-397ec39fd419', '3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', '["tests","https://id.example.com","ann",null]', '6318fe57-e558-f3e6-edb5-4f31f9c4820a', 'tool', 3, 1785240000000, 1000, 3153600000000);
INSERT INTO mrtr.task OVERRIDING SYSTEM VALUE VALUES (2, 'a9f3e6b2-1418-f520-774b-c65f9262f0a5', '3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', '["tests","https://id.example.com","ann",null]', '73c7c283-f1ed-f1ba-8a04-afa78276fe97', 'tool', 3, 1785240000000, 1000, 3153600000000);
INSERT INTO mrtr.task OVERRIDING SYSTEM VALUE VALUES (3, '3940dc6a-6394-209a-51cf-3bab4c0a0b79', '3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', '["tests","https://id.example.com","ann",null]', '9c3eb1c1-ff56-7f0b-8ad7-b39003d83ae1', 'tool', 3, 1785240000000, 1000, 3153600000000);
INSERT INTO mrtr.task OVERRIDING SYSTEM VALUE VALUES (4, '6ac4b8de-0408-d970-aa89-443b1bd7378a', '3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', '["tests","https://id.example.com","ann",null]', 'c19c23f3-0c68-fdae-ca50-8df68711c64f', 'tool', 3, 1785240000000, 1000, 3153600000000);
INSERT INTO mrtr.task OVERRIDING SYSTEM VALUE VALUES (5, '98b81c8a-9e2d-252b-63f2-ccbf7b7a3cbe', '3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', '["tests","https://id.example.com","ann",null]', 'b6c4e0b1-1b6d-28bb-fd10-bab1bad1ca98', 'tool', 3, 1785240000000, 1000, 3153600000000);
INSERT INTO mrtr.task OVERRIDING SYSTEM VALUE VALUES (6, '592cdd6b-5b54-d2f2-5d79-b8f053fb1fc3', '3f56ebcb-f8d9-50ce-9a44-835a0a59aa0b', '["tests","https://id.example.com","ann",null]', 'ffc72063-7940-0c57-4bac-6102324e317a', 'tool', 3, 1785240000000, 1000, 3153600000000);


--
-- Name: redemption_id_seq; Type: SEQUENCE SET; Schema: mrtr; Owner: -
--

SELECT pg_catalog.setval('mrtr.redemption_id_seq', 5, true);


--
-- Name: reservation_fence; Type: SEQUENCE SET; Schema: mrtr; Owner: -
--

SELECT pg_catalog.setval('mrtr.reservation_fence', 5, true);


--
-- Name: step_number_seq; Type: SEQUENCE SET; Schema: mrtr; Owner: -
--

SELECT pg_catalog.setval('mrtr.step_number_seq', 7, true);


--
-- Name: task_place_seq; Type: SEQUENCE SET; Schema: mrtr; Owner: -
--

SELECT pg_catalog.setval('mrtr.task_place_seq', 6, true);


--
-- Name: entry entry_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (task, number);


--
-- Name: memory memory_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (only_row);


--
-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);


--
-- Name: open_count open_count_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.open_count
    ADD CONSTRAINT open_count_pkey PRIMARY KEY (owner_key, shard);


--
-- Name: question question_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.question
    ADD CONSTRAINT question_pkey PRIMARY KEY (task, key);


--
-- Name: redemption redemption_fence; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.redemption
    ADD CONSTRAINT redemption_fence UNIQUE (fence);


--
-- Name: redemption redemption_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.redemption
    ADD CONSTRAINT redemption_pkey PRIMARY KEY (id);


--
-- Name: redemption redemption_token; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.redemption
    ADD CONSTRAINT redemption_token UNIQUE (issued, key);


--
-- Name: shown shown_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.shown
    ADD CONSTRAINT shown_pkey PRIMARY KEY (task);


--
-- Name: state state_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.state
    ADD CONSTRAINT state_pkey PRIMARY KEY (place);


--
-- Name: step step_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (redemption, name);


--
-- Name: task task_flow; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.task
    ADD CONSTRAINT task_flow UNIQUE (owner_key, flow);


--
-- Name: task task_id; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.task
    ADD CONSTRAINT task_id UNIQUE (id);


--
-- Name: task task_pkey; Type: CONSTRAINT; Schema: mrtr; Owner: -
--

ALTER TABLE ONLY mrtr.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (place);


--
-- Name: change_by_xid; Type: INDEX; Schema: mrtr; Owner: -
--

CREATE INDEX change_by_xid ON mrtr.change USING btree (xid);


--
-- Name: redemption_by_end; Type: INDEX; Schema: mrtr; Owner: -
--

CREATE INDEX redemption_by_end ON mrtr.redemption USING btree (keep_until);


--
-- Name: state_by_attention; Type: INDEX; Schema: mrtr; Owner: -
--

CREATE INDEX state_by_attention ON mrtr.state USING btree (tool, attention, place) WHERE (attention IS NOT NULL);


--
-- Name: state_by_expiry; Type: INDEX; Schema: mrtr; Owner: -
--

CREATE INDEX state_by_expiry ON mrtr.state USING btree (expires, place) WHERE (expires IS NOT NULL);


--
-- Name: state_by_removal; Type: INDEX; Schema: mrtr; Owner: -
--

CREATE INDEX state_by_removal ON mrtr.state USING btree (removable, place) WHERE (removable IS NOT NULL);


--
-- Name: task_by_owner; Type: INDEX; Schema: mrtr; Owner: -
--

CREATE INDEX task_by_owner ON mrtr.task USING btree (owner_key, place);


--
-- PostgreSQL database dump complete
--


