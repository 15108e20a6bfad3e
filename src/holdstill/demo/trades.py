"""What the people of the demo do: trades, and for every skill sentences about using it.

A sentence stands in a resume only if the person has its skill, so text and fields never contradict each other. In
braces stand slots, filled by `resumes`: `{n}` a number, `{pct}` a percentage, `{team}` the size of a team, `{version}`
one of `VERSIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Releases of one invented library, close enough to be taken for one another.
VERSIONS = ("v2.13.9", "v2.14.0", "v2.14.0", "v2.14.0", "v2.14.1", "v2.14.10", "v2.15.2")


@dataclass(frozen=True, slots=True)
class Trade:
    """One trade.

    Attributes:
        titles: what its people are called.
        aims: what a summary says they like to do.
        employers: where they work.
        skills: what each skill is called, and sentences about using it.
        certificates: what they may hold.
        degrees: how they came to it.
        remote: whether it can be done from home.
    """

    titles: tuple[str, ...]
    aims: tuple[str, ...]
    employers: tuple[str, ...]
    skills: dict[str, tuple[str, ...]]
    certificates: tuple[str, ...]
    degrees: tuple[str, ...]
    remote: bool = True


BACKEND = Trade(
    titles=("Backend engineer", "Payments engineer", "Platform engineer", "Services developer"),
    aims=("services that move money and never lose a cent", "plain APIs that other teams enjoy calling", "fewer pages"),
    employers=(
        "Norrbank Payments",
        "Kontor Ledger",
        "Mietwerk",
        "Halden Tickets",
        "Quayside Insurance",
        "Pilot Parcel",
    ),
    skills={
        "python": (
            "Wrote the settlement service in Python that reconciles {n} thousand card payments every night.",
            "Split a Python monolith into {team} services without a day of downtime.",
        ),
        "go": (
            "Rewrote the pricing API in Go and cut its slowest responses by {pct} percent.",
            "Built the refund workflow in Go, with every step safe to repeat.",
        ),
        "java": (
            "Maintained a Java service that issues {n} thousand invoices a month.",
            "Moved a Java service from version 8 to 21 and found {n} forgotten time zones on the way.",
        ),
        "postgresql": (
            "Moved {n} million rows of billing history to PostgreSQL 16 partitions while the shop stayed open.",
            "Traced lost updates to a wrong isolation level in PostgreSQL; error 40001 is now retried.",
        ),
        "kafka": (
            "Replaced nightly files with a stream of order events in Kafka, read by {team} teams.",
            "Found why Kafka consumers processed payments twice, and made the handler idempotent.",
        ),
        "rabbitmq": (
            "Runs the message queues between checkout and warehouse on RabbitMQ, {n} messages a second.",
            "Drained a RabbitMQ queue of {n} million stuck messages without losing one.",
        ),
        "orderbus": (
            "Found the connection leak in orderbus {version} and wrote the workaround that the fleet ran on.",
            "Rolled orderbus {version} out to {n} machines, one region at a time.",
        ),
    },
    certificates=("AWS Certified Developer", "Oracle Java SE 17 certificate 1Z0-829", "PSD2 compliance training"),
    degrees=("a degree in computer science", "an apprenticeship in software development", "a degree in mathematics"),
)

HOSTING = Trade(
    titles=("Site reliability engineer", "Release engineer", "Infrastructure engineer"),
    aims=("boring deployments", "alerts that mean something", "systems that recover before anybody wakes up"),
    employers=("Fjordnet Hosting", "Pilot Parcel", "Kontor Ledger", "Skylark Streaming", "City Transit Online"),
    skills={
        "kubernetes": (
            "Moved {n} workloads to Kubernetes and wrote the runbook the night shift now uses.",
            "Ended a month of restarts by reading exit code 137 for what it was: a memory limit set too low.",
        ),
        "terraform": (
            "Described the whole estate in Terraform, so that a region is rebuilt in {n} minutes.",
            "Reviewed every Terraform change for {team} teams and wrote down the {n} mistakes that come back.",
        ),
        "linux": (
            "Tuned Linux hosts for a broker that carries {n} thousand connections.",
            "Followed a stall on Linux hosts down to CVE-2022-0847 and had {n} kernels replaced in a night.",
        ),
        "prometheus": (
            "Cut the alerts by {pct} percent by asking of each one in Prometheus what to do about it.",
            "Put {n} services under Prometheus, each with one page that says what healthy looks like.",
        ),
        "kafka": (
            "Operated the Kafka clusters behind the order pipeline through {team} upgrades without losing data.",
            "Doubled the disks under a Kafka cluster, broker by broker, in working hours.",
        ),
        "orderbus": (
            "Pinned orderbus {version} across the fleet after the next release dropped messages under load.",
            "Took part in the review of the outage that followed the upgrade to orderbus {version}.",
        ),
        "python": (
            "Automated failover drills in Python; they now run every week, unattended.",
            "Wrote the Python tool that tells which of {n} certificates expires next.",
        ),
    },
    certificates=("Certified Kubernetes Administrator", "Red Hat Certified Engineer EX294", "ITIL 4 Foundation"),
    degrees=("a degree in computer engineering", "years of running servers for a student network"),
)

DATA = Trade(
    titles=("Data engineer", "Analytics engineer", "Warehouse developer"),
    aims=("numbers that two departments agree on", "pipelines that say when they are late", "clean tables"),
    employers=("Skylark Streaming", "Grove Groceries", "Baltic Freight", "Quayside Insurance", "Open Harvest"),
    skills={
        "python": (
            "Wrote the Python jobs that load {n} sources before the shops open.",
            "Replaced {n} shell scripts by one Python package that says which file broke it.",
        ),
        "sql": (
            "Replaced {n} contradicting SQL reports by one model of what a customer is.",
            "Made the month-end SQL run in minutes where it had taken a weekend.",
        ),
        "spark": (
            "Reduced the cost of the Spark cluster by {pct} percent by not reading what nobody asked for.",
            "Rewrote the joins of a Spark job that had run for {n} hours and now takes one.",
        ),
        "airflow": (
            "Runs {n} Airflow pipelines and publishes how late each one is.",
            "Moved {n} cron jobs to Airflow and deleted half of them afterwards.",
        ),
        "kafka": (
            "Built event streaming from the tills to the warehouse on Kafka, {n} thousand events a minute.",
            "Gave every Kafka topic an owner, a schema and a date on which it ends; {n} topics ended.",
        ),
        "pulsar": (
            "Built event streaming for the vehicle fleet on Apache Pulsar, {n} thousand events a minute.",
            "Runs event streaming for {n} warehouses on Apache Pulsar, across {team} regions.",
        ),
        "dbt": (
            "Introduced dbt tests; {pct} percent of the broken dashboards are now caught before anyone sees them.",
            "Reviews the dbt models of {team} departments; the largest has {n} columns fewer.",
        ),
    },
    certificates=("Google Professional Data Engineer", "dbt Analytics Engineering certificate"),
    degrees=("a degree in statistics", "a degree in geography", "a degree in computer science"),
)

FRONTEND = Trade(
    titles=("Frontend engineer", "Web developer", "Design engineer"),
    aims=("pages that work on old phones", "forms that do not lose what was typed", "interfaces for everybody"),
    employers=("Halden Tickets", "Grove Groceries", "Museum of Craft", "City Transit Online", "Lumen Learning"),
    skills={
        "typescript": (
            "Moved {n} thousand lines to TypeScript, file by file, while shipping every week.",
            "Wrote the TypeScript types that caught error TS2345 in {n} places before customers did.",
        ),
        "react": (
            "Rebuilt the seat map in React; it now answers a tap at once on a five-year-old phone.",
            "Took {pct} percent off the weight of a React shop, most of it code nobody ran.",
        ),
        "css": (
            "Wrote the CSS of a design system that {team} teams build on.",
            "Deleted {pct} percent of a style sheet and nobody noticed, as CSS should be.",
        ),
        "accessibility": (
            "Brought the booking flow to WCAG 2.2 AA, tested with people who use screen readers.",
            "Fixed {n} accessibility findings and taught the team to find them first.",
        ),
        "playwright": (
            "Replaced a day of clicking before each release by {n} Playwright tests.",
            "Made {n} flaky Playwright tests say what they were waiting for.",
        ),
    },
    certificates=("IAAP Web Accessibility Specialist", "UX certificate of the Interaction Design Foundation"),
    degrees=("a degree in graphic design", "a bootcamp and a patient mentor", "a degree in media informatics"),
)

SECURITY = Trade(
    titles=("Security analyst", "Application security engineer", "Incident responder"),
    aims=("small attack surfaces", "honest post-mortems", "security advice that people can follow"),
    employers=("Norrbank Payments", "Fjordnet Hosting", "State Health Agency", "Baltic Freight"),
    skills={
        "incident response": (
            "Led the response when CVE-2021-44228 was found in {n} services; the last was patched within two days.",
            "Found the hosts that carried the backdoor of CVE-2024-3094 and rebuilt every one.",
        ),
        "threat modelling": (
            "Runs threat modelling with {team} product teams before the first line is written.",
            "Turned threat modelling from a form of {n} pages into an afternoon at a whiteboard.",
        ),
        "python": (
            "Wrote Python tooling that matches advisories with what is really deployed.",
            "Built a Python scanner that found {n} keys in old commits.",
        ),
        "penetration testing": (
            "Broke into the test network {n} times and described each way in for the people who own it.",
            "Did penetration testing for {team} banks and reported what was sound as well.",
        ),
        "identity management": (
            "Replaced shared passwords by hardware keys for all {n} branches.",
            "Cleared {n} hundred accounts of people who had left, and found out how they stayed.",
        ),
    },
    certificates=("OSCP", "CISSP", "GIAC Certified Incident Handler", "ISO/IEC 27001 Lead Auditor"),
    degrees=("a degree in computer science", "ten years in the signals corps", "a degree in law"),
)

EMBEDDED = Trade(
    titles=("Embedded engineer", "Firmware engineer", "Embedded Rust developer"),
    aims=("firmware that runs for ten years", "small binaries", "devices that survive a bad update"),
    employers=("Nordwind Turbines", "Medira Devices", "Atelier Robotics", "Baltic Freight", "Solveig Sensors"),
    skills={
        "rust": (
            "Ported the motor controller from C to Rust and had no memory fault in {n} months of field trials.",
            "Taught {team} colleagues Rust, from their first E0499 to their first merged driver.",
        ),
        "c": (
            "Wrote C drivers for the STM32H743 that other products now share.",
            "Shrank a C image to {n} kilobytes so that it fits beside its own update.",
        ),
        "can bus": (
            "Diagnosed a fault on the CAN bus that appeared only below minus {n} degrees.",
            "Wrote the CAN bus gateway of a harvester with {n} control units.",
        ),
        "zephyr": (
            "Brought up Zephyr on a new board within {team} weeks.",
            "Brought Zephyr 3.7 through certification for {team} markets.",
        ),
        "pcb design": (
            "Designed the PCB of a sensor that runs {n} months on one cell.",
            "Laid out a PCB that passed emission tests at the first attempt.",
        ),
    },
    certificates=("ISO 26262 Functional Safety Engineer", "IEC 62304 training", "IPC-A-610 Specialist"),
    degrees=("a degree in electrical engineering", "an apprenticeship in mechatronics"),
)

LEARNING = Trade(
    titles=("Machine learning engineer", "Applied scientist", "Search engineer"),
    aims=("models that are measured before they are believed", "retrieval that finds the right page", "small models"),
    employers=("Lumen Learning", "Skylark Streaming", "State Health Agency", "Grove Groceries", "Open Harvest"),
    skills={
        "python": (
            "Turned {n} notebooks into one Python package with tests.",
            "Wrote the Python service that answers {n} thousand predictions an hour.",
        ),
        "pytorch": (
            "Trained a PyTorch model that reads delivery notes and is right {pct} times in a hundred.",
            "Made a PyTorch model {team} times smaller and lost nothing that a user could see.",
        ),
        "information retrieval": (
            "Built the search of a library of {n} thousand articles, words and vectors together.",
            "Showed that a plain BM25 baseline beat the first neural ranker, and shipped the baseline.",
        ),
        "statistics": (
            "Designed the experiments that decide which of {team} models goes live.",
            "Used statistics to show that {team} of the last ten launches had changed nothing.",
        ),
        "sql": (
            "Found with SQL that {pct} percent of the training labels came from one annotator.",
            "Drew the evaluation set in SQL, {n} questions from every region.",
        ),
    },
    certificates=("TensorFlow Developer Certificate", "Certificate in Bayesian statistics"),
    degrees=("a doctorate in linguistics", "a degree in physics", "a degree in statistics"),
)

NURSING = Trade(
    titles=("Registered nurse", "Intensive care nurse", "Emergency nurse"),
    aims=("calm shifts", "handovers in which nothing is lost", "teaching those who come after"),
    employers=("St. Brigid Hospital", "Harbour Clinic", "State Health Agency", "Riverside Hospice"),
    skills={
        "intensive care": (
            "Cared for up to {team} ventilated patients a shift on a ward of {n} beds.",
            "Introduced newcomers to intensive care, {team} each spring, each with a named mentor.",
        ),
        "triage": (
            "Reworked triage at the emergency desk; the urgent are now seen {pct} percent sooner.",
            "Trained {n} colleagues in the Manchester triage scale.",
        ),
        "wound care": (
            "Set up a wound care round that {team} wards have copied.",
            "Kept the wound care records of {n} patients at home and found the dressing that failed them.",
        ),
        "medication safety": (
            "Halved the medication errors of a ward by a second look at {n} high-risk drugs.",
            "Wrote the medication safety card for insulin that hangs in {team} wards.",
        ),
        "hl7": (
            "Was the voice of the ward when HL7 FHIR R4 replaced the paper charts.",
            "Found {n} orders that HL7 v2.5 messages had dropped, and got the interface mended.",
        ),
    },
    certificates=("Advanced Cardiac Life Support", "Paediatric Advanced Life Support", "Wound Care Certificate"),
    degrees=("a diploma in nursing", "a degree in nursing science"),
    remote=False,
)

ELECTRICAL = Trade(
    titles=("Electrician", "Industrial electrician", "Solar installer"),
    aims=("installations that the next one understands", "safe sites", "roofs that pay for themselves"),
    employers=("Hansen Electric", "Solarhof", "Nordwind Turbines", "City Transit Online", "Brick and Beam"),
    skills={
        "wiring": (
            "Rewired {n} flats in an old building while people lived in them.",
            "Planned the wiring of a school with {n} rooms and finished before the holidays did.",
        ),
        "solar": (
            "Installed {n} solar roofs with a crew of {team}, none with a defect at acceptance.",
            "Repaired a solar park of {n} strings after hail, row by row.",
        ),
        "plc": (
            "Programmed the S7-1200 that runs a bottling line and keeps its spare documented.",
            "Cured a PLC of fault F30005 that had stopped a press {n} times.",
        ),
        "inspection": (
            "Carried out inspections after DIN VDE 0100-600 for {n} schools.",
            "Did the inspection of {n} lifts and had {team} of them stopped.",
        ),
        "charging stations": (
            "Built the charging stations of {team} bus depots.",
            "Maintains {n} charging stations along the coast road.",
        ),
    },
    certificates=("NFPA 70E training", "DGUV V3 tester", "High-voltage switching licence"),
    degrees=("an apprenticeship as an electrician", "a master craftsman's diploma"),
    remote=False,
)

FINANCE = Trade(
    titles=("Financial analyst", "Controller", "Accountant"),
    aims=("forecasts with honest ranges", "books that close on the third day", "figures explained in one page"),
    employers=("Quayside Insurance", "Brick and Beam", "Baltic Freight", "Norrbank Payments", "Museum of Craft"),
    skills={
        "ifrs": (
            "Led the change to IFRS 16 for {n} leases.",
            "Explained IFRS 9 to the board in {team} slides.",
        ),
        "forecasting": (
            "Built a forecast that missed the year's revenue by less than {team} percent.",
            "Brought forecasting from {n} spreadsheets into one model with stated doubts.",
        ),
        "excel": (
            "Replaced a workbook of {n} sheets, which nobody understood, by one that a newcomer can read.",
            "Found the cell in Excel that had cost {n} thousand euros a quarter.",
        ),
        "sql": (
            "Taught the finance team SQL, so that {pct} percent of its questions need nobody else.",
            "Reconciles {n} accounts by SQL every morning before the markets open.",
        ),
        "audit": (
            "Prepared {team} audits that closed without a finding.",
            "Answered {n} requests of an audit within the week, most of them from one folder.",
        ),
    },
    certificates=("CFA Level II", "ACCA", "Certified Management Accountant"),
    degrees=("a degree in business administration", "a degree in economics"),
)

#: One entry a person in turn; two of them backend, so that searches for such people have a choice.
TRADES = (BACKEND, BACKEND, HOSTING, DATA, FRONTEND, SECURITY, EMBEDDED, LEARNING, NURSING, ELECTRICAL, FINANCE)
